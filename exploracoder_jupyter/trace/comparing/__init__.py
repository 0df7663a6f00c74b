"""Whether two outputs show the same."""
