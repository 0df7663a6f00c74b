"""How a kernel is forked into another kernel with the same memory."""
