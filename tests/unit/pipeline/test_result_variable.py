"""Whether a solution sets the variable in which the task wants its result."""

import pytest

from exploracoder_jupyter.pipeline.solving.solution_attempts import missing_result


@pytest.mark.parametrize(
    ("task", "code", "missing"),
    [
        ("Store the mean of each plan in `customers` in the dict `rmst`.", "def rmst_by_plan(): ...", "rmst"),
        ("Store the sum in `total`, and keep the labels in a list `labels`.", "total = 1", "labels"),
        ("Store the sum in `total`.", "total = 1", ""),
        ("Define a function `mean` of `rows`.", "x = 1", ""),
        ("Add the rows in `rows`. Print the sum.", "print(sum(rows))", ""),
    ],
)
def test_the_name_is_found_in_the_words_of_the_task(task, code, missing):
    assert missing_result(task, code) == missing
