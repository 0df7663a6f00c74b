"""Which variables a task treats as given, and which programs make them up."""

import pytest

from exploracoder_jupyter.core.task import classify_mention, find_invented


@pytest.mark.parametrize(
    ("text", "name", "mention"),
    [
        ("From `sales`, compute the total by region; store it in `total`", "sales", "given"),
        ("From `sales`, compute the total by region; store it in `total`", "total", "made"),
        ("Given the edges ('a', 'b', 4) and ('b', 'c', 1), build a graph", "edges", "made"),
        ("build a weighted graph G and compute the diameter of G", "G", "made"),
        ("Build a graph G from `edges` and count its nodes", "edges", "given"),
        ("Build a graph G from `edges` and count its nodes", "G", "made"),
        ("Sort the nodes of the directed graph `G`; store the list in `order`", "G", "given"),
        ("Sort the nodes of the directed graph `G`; store the list in `order`", "order", "made"),
        ("plot sales by month", "sales", "perhaps"),
        ("Sort `sales` by price and store it in `sales`", "sales", "given"),
        ("add a column to `sales`", "sales", "given"),
        ("Replace the missing values in `sales` by 0", "sales", "given"),
        ("recreate `sales` with random numbers", "sales", "made"),
        ("With n = 3 make a list", "n", "made"),
        ("From `sales` (31 rows, a Polars frame) compute", "sales", "given"),
        ("the text 'abc def'", "text", "made"),
        ("Use numbers [1, 2, 3]", "numbers", "made"),
        ("fit df_raw", "df_raw", "given"),
        ("the mean of sales['price']", "sales", "given"),
        ("`total` should be 12", "total", "made"),
        ("Read the file x.csv into `table`", "table", "made"),
        ("Compute the mean of sales per region as `means`.", "means", "made"),
        ("call the function `helper` on `rows`", "helper", "given"),
        ("a table called prices", "prices", "made"),
        ("Write a function `area(width, height)`", "width", "made"),
        ("the DataFrame df contains", "df", "given"),
    ],
)
def test_mentions_are_given_or_made(text, name, mention):
    assert classify_mention(text, name) == mention


@pytest.mark.parametrize(
    "code",
    [
        "sales = sales.dropna()", "raw = sales\nsales = raw.drop()", "sales += 1", "x = [sales for sales in range(3)]",
        "def f(sales):\n    sales = sales.dropna()\n    return sales\nx = f(sales)", "sales, b = sales.x, 3",
        "def clean():\n    return sales.dropna()\nsales = clean()", "total = sales.sum()", "x = f(lambda sales: 1)",
        "this is not Python",
    ],
)  # fmt: skip
def test_what_derives_from_given_data_is_not_invented(code):
    assert find_invented(code, ("sales",)) == ()


@pytest.mark.parametrize(
    "code",
    [
        "sales = DataFrame({'a': [1]})", "try:\n    sales\nexcept NameError:\n    sales = DataFrame()",
        "sales = sales if 'sales' in globals() else DataFrame()", "sales = globals().get('sales') or DataFrame()",
        "def load():\n    return DataFrame()\nsales = load()", "globals()['sales'] = 3", "import x as sales",
        "get_ipython().user_ns['sales'] = 3", "for sales in range(3): pass", "sales, b = 3, sales.x", "(sales := 3)",
        "def f():\n    sales = DataFrame()\nf()", "with open('x') as sales: pass", "def sales(): pass",
        "match 3:\n    case sales: pass",
    ],
)  # fmt: skip
def test_invented_data_is_found(code):
    assert find_invented(code, ("other", "sales")) == ("sales",)
