"""Programs that inspect an installed library: its public API, stubs, documentation and source code."""
