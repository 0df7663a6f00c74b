"""Programs that read an installed library: its public API, stubs, documentation and source code."""
