"""What the commands print: live view, lines, progress, search results; and how interrupts end a run."""
