"""The sidebar as its user meets it: by the names and roles that it gives to people and screen readers."""


class Sidebar:
    """The sidebar of one tab."""

    def __init__(self, tab):
        self._tab = tab
        self.root = tab.page.locator("#exploracoder-jupyter-sidebar")

    def open(self):
        if not self.root.is_visible():
            self._tab.page.evaluate("jupyterapp.shell.activateById('exploracoder-jupyter-sidebar')")
        self.root.wait_for()
        return self

    def text(self):
        return self.root.inner_text()

    def running(self):
        """Whether it says that a run is under way."""
        self.open()
        return self.button("Stop").is_visible()

    def button(self, name):
        return self.root.get_by_role("button", name=name, exact=True).first

    def item(self, text):
        """A row of the plan, opened if it was closed."""
        return self.root.get_by_role("treeitem").filter(has_text=text).first

    def stop(self):
        self.button("Stop").click()

    def skip(self, subtask):
        self._hovered(self.item(subtask)).get_by_role("button", name="Skip").click()

    def retry(self, subtask, hint):
        self._hovered(self.item(subtask)).get_by_role("button", name="Retry").click()
        field = self.root.get_by_label("Hint for the model")
        field.fill(hint)
        field.press("Enter")

    def choose(self, candidate):
        self._hovered(self.item(candidate)).get_by_role("button", name="Use").click()

    def _hovered(self, row):
        row.hover()
        return row
