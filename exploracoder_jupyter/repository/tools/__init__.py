"""The tools with which a model, or a user, asks about a repository."""
