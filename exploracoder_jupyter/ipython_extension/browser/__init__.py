"""The kernel's side of the browser pages: comms, known pages, the controls they send, and the view for the sidebar."""
