"""Notes with links between them."""
