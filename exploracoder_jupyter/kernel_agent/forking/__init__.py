"""Forking a kernel into another kernel with the same memory."""
