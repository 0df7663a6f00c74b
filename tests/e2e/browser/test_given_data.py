"""A task about data of a notebook whose kernel cannot be forked: what the user sees, and what becomes of the data."""

from tests.e2e.browser.lab import candidates, of_role, source, text
from tests.e2e.browser.stories import cell
from tests.e2e.browser.test_card import Card
from tests.e2e.browser.test_replaced_variables import _EVALUATE

DATA = """import polars as pl
sales = pl.DataFrame({"city": ["Graz", "Wien", "Graz"], "amount": [1.5, 2.25, 4.0]})
sales.lazy().group_by("city").agg(pl.col("amount").sum()).collect()  # starts the threads of Polars
class Ledger:
    def __init__(self):
        self.amounts = [1.5, 2.25]
ledger = Ledger()"""
INVENTED = """import polars as pl
sales = pl.DataFrame({"amount": [100.0, 200.0]})
total = sales["amount"].sum()
print("total", total)"""
USED = """import polars as pl
sales = sales.filter(pl.col("city") == "Graz")
total = sales["amount"].sum()
print("total", total)"""
OF_LEDGER = "total = sum(ledger.amounts)\nprint('total', total)"


def test_data_that_a_task_gives_is_used_and_kept(tab, server, play):
    script = play(solution=INVENTED, repaired=USED)
    task = "From `sales`, take the rows of Graz and store the sum of their amounts in `total`."
    notebook = tab.open(server.write("given-data.ipynb", DATA, cell(script, "--effort", "auto", task=task)))

    def frame():
        return notebook.do(_EVALUATE, ["", "(sales.hash_rows().to_list(), sales.shape)"])

    notebook.run_and_wait(0)
    notebook.run_and_wait(1)
    before = frame()
    notebook.run(2)
    notebook.until_ended()
    card = Card(notebook)
    shown = card.root.inner_text()
    assert "Unchecked" in shown and "total 5.5" in shown and "sales: polars.DataFrame" in shown
    (solution,) = of_role(notebook.cells(), "solution")
    assert source(solution) == USED and frame() == before
    first = candidates(notebook.cells())["s1"]
    assert INVENTED in source(first) and "makes up `sales`" in str(first)
    tab.shot("given-data")
    card.button("Run here").click()
    dialog = tab.page.locator(".jp-Dialog")
    dialog.wait_for()
    assert "sales" in dialog.inner_text() and "total" not in dialog.inner_text()
    tab.shot("given-data-question")
    tab.page.keyboard.press("Enter")
    dialog.wait_for(state="detached")
    assert frame() == before


def test_what_takes_a_pickle_is_asked_about_first(tab, server, play):
    script = play(solution=OF_LEDGER)
    task = "Store the sum of the amounts of `ledger` in `total`."
    notebook = tab.open(server.write("given-object.ipynb", DATA, cell(script, "--effort", "auto", task=task)))
    notebook.run_and_wait(0)
    notebook.run_and_wait(1)
    notebook.run(2)
    answer = tab.page.locator(".jp-Stdin-input")
    answer.wait_for()
    question = tab.page.locator(".jp-Stdin-prompt").inner_text()
    assert "ledger (a Ledger)" in question and "pickle" in question
    tab.shot("given-object-question")
    assert not script.asked
    answer.fill("y")
    answer.press("Enter")
    notebook.until_ended()
    (solution,) = of_role(notebook.cells(), "solution")
    assert source(solution) == OF_LEDGER
    assert "total 3.75" in Card(notebook).root.inner_text()
    assert "UsageError" not in text(notebook.cells()[2])
