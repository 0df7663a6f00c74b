"""The messages between processes: engine and kernel, kernel and browser."""
