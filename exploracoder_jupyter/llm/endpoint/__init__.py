"""Models at an OpenAI-compatible endpoint: connection, requests, replies, retries, and errors in plain words."""
