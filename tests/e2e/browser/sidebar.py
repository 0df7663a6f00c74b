"""The sidebar as its user meets it: by the names and roles that it gives to people and screen readers."""

ID = "exploracoder-sidebar"


class Sidebar:
    """The sidebar of one tab."""

    def __init__(self, tab):
        self._tab = tab
        self.root = tab.page.locator(f"#{ID}")

    def open(self):
        if not self.root.is_visible():
            self._tab.page.evaluate("id => jupyterapp.shell.activateById(id)", ID)
        self.root.wait_for()
        return self

    def text(self):
        return self.root.inner_text()

    def running(self):
        """Whether it offers to stop a run."""
        return self.open().button("Stop").is_visible()

    def button(self, name):
        return self.root.get_by_role("button", name=name, exact=True).first

    def subtask(self, title):
        return self.root.get_by_role("treeitem").filter(has_text=title).first

    def candidate(self, id, of):
        """The row of a candidate; the subtask is opened if it was closed."""
        row = self.root.get_by_role("treeitem").filter(has=self._tab.page.get_by_text(id, exact=True)).first
        if not row.is_visible():
            self.subtask(of).locator(".jp-Explora-fold").click()
        row.wait_for()
        return row

    def stop(self):
        self.button("Stop").click()

    def skip(self, title):
        self.subtask(title).locator(".jp-Explora-row").click()
        self.button("Skip subtask").click()

    def retry(self, title, hint):
        self.subtask(title).locator(".jp-Explora-row").click()
        self.button("Retry with a hint…").click()
        field = self.root.get_by_label("Hint for the model")
        field.fill(hint)
        field.press("Enter")

    def choose(self, id, of, *, ended=False):
        self.candidate(id, of).locator(".jp-Explora-row").click()
        if ended:
            self.button("Use this one instead…").click()
            self.button("Explore again").click()
        else:
            self.button("Use this one instead").click()

    def remove(self, *, keep_solution=False):
        self.button("Remove exploration…").click()
        self.root.get_by_label("Keep the solution").set_checked(keep_solution)
        self.button("Remove").click()
