"""What is retrieved for a prompt: APIs, passages, look-ups; and what is learned (ARKS, ToolCoder)."""
