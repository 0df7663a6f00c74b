"""Foundation of every other package: types, events, errors, settings, options, and small helpers."""
