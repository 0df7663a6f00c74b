"""How a trace is stored: journal, records, deduplication, size limits, migration and validation."""
