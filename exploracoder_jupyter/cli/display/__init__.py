"""Terminal output of the commands (live view, lines, progress, search results) and handling of interrupts."""
