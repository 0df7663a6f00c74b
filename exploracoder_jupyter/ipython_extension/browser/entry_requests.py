"""Answers the requests of pages that refer to no run."""

from __future__ import annotations

from IPython.core.interactiveshell import InteractiveShell

from exploracoder_jupyter.ipython_extension.browser.library_names import library_names
from exploracoder_jupyter.protocol.entry_messages import EntryAnswer, EntryRequest


class EntryRequests:
    """The requests to one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell

    def answer(self, message: EntryRequest) -> EntryAnswer:
        """Answer a request; called in a thread of its own, and may take a while."""
        return library_names(message.request, self._shell.user_ns)
