"""The comparison of candidates, as its user meets it: by the names and roles that people and screen readers find."""


class Board:
    """The board of one tab."""

    def __init__(self, tab):
        self.tab = tab
        self.root = tab.page.get_by_role("region", name="Comparison of candidates")

    def column(self, id):
        return self.root.locator(f"article[data-candidate='{id}']")

    def order(self):
        return self.root.locator("article").evaluate_all("nodes => nodes.map(node => node.dataset.candidate)")

    def focused(self):
        """The candidate whose column has the focus itself, or an empty string."""
        return self.tab.page.evaluate("document.activeElement?.dataset?.candidate ?? ''")

    def until_focused(self, id):
        self.tab.until(lambda: self.focused() == id, f"the focus in {id}, not in {self.focused()!r}")

    def press(self, *keys):
        for key in keys:
            self.tab.page.keyboard.press(key)

    def text(self, id):
        return self.column(id).inner_text()
