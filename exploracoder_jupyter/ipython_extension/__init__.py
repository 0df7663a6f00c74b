"""The part that runs in the user's kernel: magics, the relay to the engine, the panel. Thin and light to import."""
