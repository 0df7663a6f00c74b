"""How the offline model writes programs: it drafts calls, binds parameters, and assembles and repairs drafts."""
