"""The browser side of a kernel: comms, pages, the controls they send, and the state that the sidebar shows."""
