"""A task about data of a notebook whose kernel cannot be forked: what the user sees, and what becomes of the data."""

from tests.e2e.browser.lab import of_role, source, text
from tests.e2e.browser.stories import cell
from tests.e2e.browser.test_card import Card
from tests.e2e.browser.test_replaced_variables import _EVALUATE
from tests.patience import patience

DATA = """import pandas as pd, polars as pl, xarray as xr
sales = pl.DataFrame({"city": ["Graz", "Wien", "Graz"], "amount": [1.5, 2.25, 4.0]})
sales.lazy().group_by("city").agg(pl.col("amount").sum()).collect()  # starts the threads of Polars
orders = pd.DataFrame({"city": ["Graz", "Wien", "Graz"], "amount": [1.5, 2.25, 4.0]})
rain = xr.DataArray([1.5, 2.25, 4.0], dims="city", coords={"city": ["Graz", "Wien", "Linz"]}, name="amount")
class Ledger:
    def __init__(self):
        self.amounts = [1.5, 2.25]
ledger = Ledger()"""
STATE = "[sales.to_dicts(), orders.to_dict(), rain.to_dict(), ledger.amounts]"
INVENTED = """{name} = {{"amount": [100.0, 200.0]}}
total = sum({name}["amount"])
print("total", total)"""
USED = {
    "sales": """import polars as pl
sales = sales.filter(pl.col("city") == "Graz")
total = sales["amount"].sum()
print("total", total)""",
    "orders": """orders = orders[orders["city"] == "Graz"]
total = orders["amount"].sum()
print("total", total)""",
    "rain": """rain = rain.sel(city=["Graz", "Linz"])
total = float(rain.sum())
print("total", total)""",
}
OF_LEDGER = "total = sum(ledger.amounts)\nprint('total', total)"


def test_given_data_is_used_and_kept(tab, server, play):
    scripts = {name: play(solution=INVENTED.format(name=name), repaired=code) for name, code in USED.items()}
    task = "From `{}`, take the rows of Graz and store the sum of their amounts in `total`."
    cells = [cell(script, "--effort", "auto", task=task.format(name)) for name, script in scripts.items()]
    notebook = tab.open(server.write("given-data.ipynb", DATA, *cells))

    def state():
        return notebook.do(_EVALUATE, ["", STATE])

    notebook.run_and_wait(0)
    notebook.run_and_wait(1)
    before = state()
    assert "4.0" in before
    for name, code in USED.items():
        place = next(at for at, one in enumerate(notebook.cells()) if f"From `{name}`" in source(one))
        notebook.run(place)
        card = tab.page.locator(".jp-Explora-panel.jp-mod-ended", has_text=f"{name}: ")
        card.wait_for(timeout=patience(90) * 1000)
        notebook.until_ended()
        shown = card.inner_text()
        assert "Unchecked" in shown and "total 5.5" in shown and f"{name}: " in shown
        solution = next(one for one in of_role(notebook.cells(), "solution") if f"{name} = {name}" in source(one))
        assert source(solution) == code and state() == before
        first = next(one for one in of_role(notebook.cells(), "candidate") if f"{name} = {{" in source(one))
        assert f"makes up `{name}`" in str(first)
        tab.shot(f"given-{name}")
        notebook.run(notebook.index(solution["id"]))
        dialog = tab.page.locator(".jp-Dialog")
        dialog.get_by_text(name).first.wait_for()  # the dialog is there before its text
        assert "total" not in dialog.inner_text()
        tab.shot(f"given-{name}-question")
        tab.page.keyboard.press("Enter")
        dialog.wait_for(state="detached")
        assert state() == before


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
    tab.until(lambda: "total 3.75" in Card(notebook).root.inner_text(), "the result")
    assert "UsageError" not in text(notebook.cells()[2])
