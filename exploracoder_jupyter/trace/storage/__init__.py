"""How a trace is stored: journal, packed records, size limits and validation."""
