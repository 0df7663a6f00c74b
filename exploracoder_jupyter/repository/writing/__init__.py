"""Where an attempt is written: the target, the changed text of its file, and the patch."""
