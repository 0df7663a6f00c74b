"""Public sets: a row in each form becomes a problem whose reference solution passes, and whose empty one fails."""

import json

import anyio
import pytest

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.evaluation.problem_files import load_problems
from exploracoder_jupyter.evaluation.problems import hidden_test_code

FUNCTION = {
    "task_id": "NumpyEval/900",
    "prompt": "import numpy as np\nOFFSET = 1\n\ndef shifted(values, by=OFFSET):\n    # Add `by` to each value.\n    moved = np.asarray(values)\n    ",  # noqa: E501
    "entry_point": "shifted",
    "canonical_solution": ["return moved + by"],
    "test": "METADATA = {}\n\ndef check(candidate):\n    assert list(candidate([1, 2])) == [2, 3]\n",
}
STATEMENT = {
    "task_id": "NumpyEval/901",
    "prompt": "import numpy as np\n\nx = np.arange(3)\n# Double all of it.\ny =",
    "entry_point": "none",
    "canonical_solution": [" double(x)", " x * 2"],
    "test": "def check():\n    assert list(y) == [0, 2, 4]\n",
}
CHANGED = {
    "task_id": "NumpyEval/902",
    "prompt": "import numpy as np\nx = np.zeros(2)\n# Set the first value to 1.\n",
    "entry_point": "none",
    "canonical_solution": ["x[0] = 1"],
    "test": "def check():\n    assert x[0] == 1\n",
}
INSERTED = {
    "prompt": "Problem:\nHow do I sum this?\nA:\n<code>\nimport numpy as np\nx = np.ones(2)\n</code>\ntotal = ... # put solution in this variable\nBEGIN SOLUTION\n<code>\n",  # noqa: E501
    "reference_code": "total = x.sum()",
    "code_context": "import numpy as np\nexec_context = '''\nimport numpy as np\nx = test_input\n[insert]\nresult = total\n'''\ndef test_execution(solution):\n    for n in (2, 5):\n        names = {'test_input': np.ones(n)}\n        exec(exec_context.replace('[insert]', solution), names)\n        assert names['result'] == n\ndef test_string(solution):\n    assert 'for' not in solution\n",  # noqa: E501
    "metadata": {"problem_id": 3, "library": "Numpy", "test_case_cnt": 2},
}
BODY = {
    "prompt": "Problem:\nSum in a function.\nA:\n<code>\nimport numpy as np\nexample = np.ones(2)\ndef f(x=example):\n    # return the solution in this function\n    # total = f(x)\n    ### BEGIN SOLUTION",  # noqa: E501
    "reference_code": "    total = x.sum()\n    return total\n",
    "code_context": "import numpy as np\nexec_context = '''\nimport numpy as np\ndef f(x):\n[insert]\nresult = f(test_input)\n'''\ndef test_execution(solution):\n    for n in (2, 5):\n        names = {'test_input': np.ones(n)}\n        exec(exec_context.replace('[insert]', solution), names)\n        assert names['result'] == n\n",  # noqa: E501
    "metadata": {"problem_id": 4, "library": "Numpy"},
}


def _problems(tmp_path, *rows):
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return anyio.run(load_problems, path)


def _passes(problem, solution):
    names = {}
    try:
        exec(problem.setup, names)
        exec(solution, names)
        for test in problem.tests:
            exec(hidden_test_code(test, solution), names)
    except Exception:
        return False
    return True


@pytest.mark.parametrize("row", [FUNCTION, STATEMENT, CHANGED, INSERTED, BODY])
def test_the_reference_passes_and_nothing_does_not(tmp_path, row):
    (problem,) = _problems(tmp_path, row).problems
    assert problem.libraries == ("numpy",)
    assert _passes(problem, problem.solution) and not _passes(problem, "")


def test_a_function_is_described_outside_the_setup(tmp_path):
    (problem,) = _problems(tmp_path, FUNCTION).problems
    assert problem.solution_name == "shifted"
    assert "Add `by` to each value." in problem.task and "shifted(values, by=OFFSET)" in problem.task
    assert "moved = np.asarray(values)" in problem.task and "return" not in problem.task
    assert "OFFSET = 1" in problem.setup and "shifted" not in problem.setup


def test_the_task_names_what_the_tests_read(tmp_path):
    statement, changed, inserted, body = _problems(tmp_path, STATEMENT, CHANGED, INSERTED, BODY).problems
    assert "`y`" in statement.task and "Double all of it." in statement.task and "`x`" not in statement.task
    assert statement.solution.strip() == "y = x * 2"  # the other reference lacks an import
    assert "`x`" in changed.task
    assert "How do I sum this?" in inserted.task and "`total`" in inserted.task
    assert not _passes(inserted, "total = 2")  # right for the input that is shown, and no other
    assert body.solution_name == "f" and "f(x=example)" in body.task
    assert [_passes(body, f"def f(x=example):\n    return {value}") for value in ("x.size", "2")] == [True, False]


def test_the_same_set_with_other_names_of_fields(tmp_path):
    renamed = {
        "starter": "prompt",
        "entry_point": "entry_point",
        "canonical_all": "canonical_solution",
        "tests": "test",
    }
    row = {"id": "numpy-1", "needed_docs": ["arange(stop): Numbers."], "runs_here": True}
    row |= {new: STATEMENT[old] for new, old in renamed.items()}
    found = _problems(tmp_path, row, {**row, "id": "numpy-2", "runs_here": False})
    (problem,) = found.problems
    assert problem.gold_apis == (("arange",),) and _passes(problem, problem.solution)
    assert "numpy-2" in found.notices[0]


def test_variables_of_renamed_libraries_are_renamed(tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "monkey.py").write_text("from pandas import *\nKnowledgeFrame = DataFrame\n")
    row = {
        "task_id": "PandasEval/903",
        "prompt": "import monkey as mk\nkf = mk.KnowledgeFrame({'a': [1]})\n# Copy it.\nnew_kf =",
        "entry_point": "none",
        "canonical_solution": [" kf.copy()"],
        "test": "def check():\n    assert new_df.equals(df) and new_df is not df\n",
    }
    (problem,) = _problems(tmp_path, row).problems
    assert problem.libraries == ("monkey",) and "`new_kf`" in problem.task
    test = problem.tests[0]
    names = {"kf": "one", "new_kf": "other"}
    exec(test[: test.index("def check")], names)
    assert (names["df"], names["new_df"]) == ("one", "other")


def test_rows_without_possible_solution_are_left_out(tmp_path):
    broken = {**STATEMENT, "task_id": "NumpyEval/904", "test": "def check(:"}
    hidden = {**INSERTED, "prompt": INSERTED["prompt"].replace("np.ones(2)", "load_data()")}
    found = _problems(tmp_path, STATEMENT, broken, hidden)
    assert [problem.id for problem in found.problems] == [STATEMENT["task_id"]]
    assert "NumpyEval/904" in found.notices[0] and "Numpy/3" in found.notices[0]
    with pytest.raises(UsageError):
        _problems(tmp_path, broken)


REPOSITORY_CLASS = {
    "task_id": "acme__shop-7_Cart",
    "class_name": "Cart",
    "file": "acme__shop-7/shop/cart.py",
    "sketchy_description": "A cart.",
    "detailed_description": "A cart that counts its items.",
    "repo_metadata": {"commit_id": "0" * 40, "issue_id": "acme__shop-7", "setup_details": None},
    "evaluation_metadata": {"test_directives": ["tests/test_cart.py::test_a", "tests/test_cart.py::test_b[x]"]},
    "ground_truth_class_body": "class Cart:\n    size = 0",
}
JAVA_CLASS = {
    **REPOSITORY_CLASS,
    "task_id": 3,
    "file": "box/core/src/main/java/Box.java",
    "class_name": "ox",  # as in the set
    "repo_metadata": {"repo_name": "box"},
    "ground_truth_class_body": "public class Box {}",
    "evaluation_metadata": {"test_class_name": "BoxTest", "test_file": "box/core/src/test/java/BoxTest.java"},
}


def _class_files(folder):
    cart = {"acme__shop-7/shop/cart.py": "x = 1\r\n\r\n\r\nclass Cart:\r\n    size = 0\r\n"}
    box = {"box/core/src/main/java/Box.java": "public class Box {}\n", "box/core/pom.xml": "<project/>"}
    for path, text in {**cart, **box}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())


@pytest.mark.parametrize("below", ["", "python_data"])
def test_classes_of_repositories_are_read_with_both_descriptions(tmp_path, below):
    _class_files(tmp_path / below)
    absent = {**REPOSITORY_CLASS, "task_id": "gone", "file": "gone/shop/cart.py", "repo_metadata": {}}
    changed = {**REPOSITORY_CLASS, "task_id": "old", "ground_truth_class_body": "class Cart:\n    size = 1"}
    (tmp_path / "python_data.json").write_text(json.dumps([REPOSITORY_CLASS, JAVA_CLASS, absent, changed], indent=4))
    loaded = anyio.run(load_problems, tmp_path / "python_data.json")
    first, second, java, _ = loaded.problems
    assert (first.id, second.id) == ("acme__shop-7_Cart/detailed", "acme__shop-7_Cart/sketchy")
    assert (first.task, second.task) == ("A cart that counts its items.", "A cart.")
    assert first.folder == (tmp_path / below / "acme__shop-7").resolve() == second.folder
    assert first.repository.target == "shop/cart.py::Cart"
    assert first.repository.tests == ("tests/test_cart.py::test_a", "tests/test_cart.py::test_b[x]")
    assert java.repository.target == "core/src/main/java/Box.java::Box"
    assert java.repository.command.startswith("cd core && mvn -q test -Dtest=BoxTest ")
    [notice] = loaded.notices
    assert "gone (" in notice and "old (" in notice and "does not exist" in notice


def test_authors_path_leads_to_the_repository(tmp_path):
    _class_files(tmp_path)
    elsewhere = {**REPOSITORY_CLASS, "file": "/home/me/repos/shop/shop/cart.py"}
    (tmp_path / "python_data.json").write_text(json.dumps([elsewhere]))
    first, _ = anyio.run(load_problems, tmp_path / "python_data.json").problems
    assert first.folder.name == "acme__shop-7" and first.repository.target == "shop/cart.py::Cart"


def test_a_set_without_its_repositories_is_refused(tmp_path):
    (tmp_path / "python_data.json").write_text(json.dumps([REPOSITORY_CLASS]))
    with pytest.raises(UsageError, match="does not exist"):
        anyio.run(load_problems, tmp_path / "python_data.json")
    sharp = {**REPOSITORY_CLASS, "file": "shop/Cart.cs"}
    del sharp["ground_truth_class_body"]
    (tmp_path / "csharp_data.json").write_text(json.dumps([sharp]))
    with pytest.raises(UsageError, match="language is not supported"):
        anyio.run(load_problems, tmp_path / "csharp_data.json")
    (tmp_path / "python_data.json").write_text("[1, {}]")
    with pytest.raises(UsageError, match="line 1: The line is not a JSON object"):
        anyio.run(load_problems, tmp_path / "python_data.json")
