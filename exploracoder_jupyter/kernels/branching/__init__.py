"""The two ways of making branches: forking, and running again."""
