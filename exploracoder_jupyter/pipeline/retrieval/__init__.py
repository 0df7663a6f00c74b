"""Retrieval for prompts: APIs, passages, look-ups; and snippets stored for later runs (ARKS, ToolCoder)."""
