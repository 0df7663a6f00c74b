"""What the offline model reads from a request: task, documentation, examples and experience."""
