"""Runs of this kernel: starts engines, exchanges messages with them, and steers and continues their explorations."""
