"""The table of settings, where their values come from, and the options that are generated from it."""
