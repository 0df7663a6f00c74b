"""The message protocols between processes: engine and kernel, kernel and browser."""
