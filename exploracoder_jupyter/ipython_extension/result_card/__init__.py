"""The panel below a calling cell: its state, its HTML and text, and where they are displayed."""
