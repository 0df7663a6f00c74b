"""Data of a notebook whose kernel cannot be forked: it goes along, is never made up, and stays as it was."""

import re
from functools import partial

import nbformat
import pytest

from tests.e2e.test_live_state import execute, text
from tests.toy_model import offer_toy, reply

pytest.importorskip("polars")
pytest.importorskip("xarray")

GIVEN = """import hashlib, pickle
import pandas as pd, polars as pl, xarray as xr
sales = pl.DataFrame({"city": ["Graz", "Wien", "Graz"], "amount": [1.5, 2.25, 4.0]})
sales.lazy().group_by("city").agg(pl.col("amount").sum()).collect()  # starts the threads of Polars
orders = pd.DataFrame({"amount": [1.5, 2.25, 4.0]})
rain = xr.DataArray([1.5, 2.25, 4.0], dims="amount", coords={"amount": [1, 2, 3]})
rate = 2
def taxed(x):
    return x * rate
class Ledger:
    def __init__(self):
        self.amount = [1.5, 2.25, 4.0]
ledger = Ledger()
def seen():
    return [hashlib.sha256(pickle.dumps(one)).hexdigest() for one in (sales, orders, rain, ledger.amount)]
before = seen()"""
EXPLORE = """%%explora statistics --base-url {url} {options} --check "assert total == 15.5"
Apply `taxed` to the sum of the amounts in `{name}`; store it in `total`."""
INVENTED = """```python
import random
{name} = [random.random() for _ in range(3)]
total = taxed(sum({name}))
```"""
PROGRAMS = {
    "sales": "total = taxed(sales['amount'].sum())",
    "orders": "total = taxed(orders['amount'].sum())",
    "rain": "total = taxed(float(rain.sum()))",
    "ledger": "total = taxed(sum(ledger.amount))",
}


class Model:
    """Makes data up at first, and uses what exists once that was refused."""

    def __init__(self):
        self.prompts = []

    def write(self, prompt, _):
        self.prompts.append(prompt)
        name = re.search(r"amounts in `(\w+)`", prompt)[1]
        if "makes up" in prompt:
            return f"```python\n{PROGRAMS[name]}\n```"
        return INVENTED.format(name=name)


@pytest.fixture
def model():
    return Model()


@pytest.fixture
def url(httpserver, monkeypatch, model):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
    return offer_toy(httpserver, partial(reply, write=model.write))


def test_given_data_is_sent_described_and_never_invented(url, model, tmp_path):
    cells = [EXPLORE.format(url=url, name=name, options="--pickle") for name in PROGRAMS]
    cells += [EXPLORE.format(url=url, name="ledger", options=""), "before == seen(), 'total' in globals()"]
    _, *explored, refused, after = execute(tmp_path, GIVEN, *cells)
    for name, cell in zip(PROGRAMS, explored, strict=True):
        assert "Solved. The solution ran and passed its check." in text(cell), text(cell)
        assert PROGRAMS[name] in text(cell)
    schemas = [prompt for prompt in model.prompts if "amount (Float64" in prompt or "amount: Float64" in prompt]
    assert schemas, model.prompts[0]
    assert "Experiments start in a new kernel (polars" in text(refused)
    assert "'ledger' holds a __main__.Ledger" in text(refused)
    assert text(after) == "(True, False)"
    traces = [nbformat.read(path, 4) for path in tmp_path.glob("explorations/*.ipynb")]
    assert len(traces) == len(PROGRAMS)
    assert all("fresh: polars" in one.metadata.exploracoder_jupyter.environment.state for one in traces)
