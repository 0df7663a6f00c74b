"""Reading an installed library: its public API, parameters, examples and overview."""
