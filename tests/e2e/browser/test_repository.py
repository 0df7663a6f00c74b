"""A run in a repository, as its user meets it: the change in the card, applied and undone by its buttons."""

from tests.e2e.browser.accessibility import violations_by_theme
from tests.e2e.browser.test_card import Card
from tests.unit.repository.shop import CART, IMPORTS, contents, without_cart

TASK = "Holds items of the catalogue, and has a total that is rounded as prices are."


def test_a_patch_is_shown_applied_and_undone(tab, server, play):
    repository = without_cart(server.root / "shop")
    before = contents(repository)
    script = play(solution=f"{IMPORTS}\n\n{CART}".strip())
    endpoint = f"--model {script.name} --base-url {script.url}"
    call = f"%%explora --repo shop --target src/shop/cart.py::Cart --tests tests {endpoint}"
    notebook = tab.open(server.write("repository.ipynb", f"{call}\n{TASK}"))
    notebook.run_and_wait(0)
    notebook.run(1)
    notebook.until_ended()
    card = Card(notebook)
    tab.until(card.button("Apply patch").is_visible, "the button for the patch")
    tab.until(lambda: "+class Cart(Container):" in card.root.inner_text(), "the patch")
    assert contents(repository) == before
    assert "Run here" not in card.buttons()
    assert not violations_by_theme(tab, ".jp-Explora-panel", "repository")
    card.button("Apply patch").click()
    tab.until(card.button("Undo patch").is_visible, "the button that undoes the patch")
    assert "class Cart(Container):" in (repository / "src" / "shop" / "cart.py").read_text()
    tab.shot("repository-applied")
    card.button("Undo patch").click()
    tab.until(card.button("Apply patch").is_visible, "the button that applies the patch again")
    assert contents(repository) == before
    tab.sidebar.open()
    tab.page.get_by_role("button", name="Apply patch").last.click()
    tab.until(card.button("Undo patch").is_visible, "the button that undoes the patch")
    cart = repository / "src" / "shop" / "cart.py"
    cart.write_text(cart.read_text() + "\n# mine\n")
    card.button("Undo patch").click()
    refused = tab.page.locator(".jp-toast-message").filter(has_text="has changed")
    tab.until(refused.first.is_visible, "why the patch cannot be undone")
    assert cart.read_text().endswith("# mine\n")
    tab.shot("repository-refused")
