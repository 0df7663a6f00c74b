"""What every other part builds on: types, events, errors, settings and options, and small services without
dependencies."""
