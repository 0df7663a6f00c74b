"""How the tests of a repository are run: what keeps pytest from starting, and tests that do not end."""

import pytest

from exploracoder_jupyter.core.types import Observation
from exploracoder_jupyter.kernel_agent.repository_test_runner import run_tests
from exploracoder_jupyter.repository.testing import read_report
from tests.patience import patience


@pytest.fixture
def tested(tmp_path, monkeypatch):
    """Writes files, runs their tests and returns the report."""

    def run(files, tests=(), each=60, seconds=600, folder=""):
        for name, text in files.items():
            (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / name).write_text(text)
        monkeypatch.chdir(tmp_path / folder)
        shown = []
        monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
        limits = {"seconds": patience(seconds), "each": patience(each)}
        run_tests({"files": {}, "tests": list(tests), "command": "", **limits})
        observation = Observation("ok", ({"output_type": "display_data", "data": shown[0], "metadata": {}},))
        return read_report(observation, command="")

    return run


def outcomes(report):
    return {item.id.partition("::")[2]: item.outcome for item in report.results}


HANGING = """import os, threading, time

def test_first():
    pass

def test_deadlock():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()

def test_between():
    pass

def test_loop():
    while True:
        try:
            time.sleep(100)
        except BaseException:
            pass

def test_end():
    os._exit(0)

def test_wrong():
    assert 1 == 2

def test_last():
    pass
"""


def test_hang_or_crash_costs_only_its_test(tested):
    report = tested({"test_hang.py": HANGING}, each=3)
    slow, passed = dict.fromkeys(("test_deadlock", "test_loop"), "slow"), dict.fromkeys(("test_first",), "passed")
    assert outcomes(report) == {
        **passed,
        **slow,
        "test_between": "passed",
        "test_last": "passed",
        "test_end": "failed",
        "test_wrong": "failed",
    }
    assert report.counts.startswith("2 of 7 tests failed, 2 of 7 tests did not end") and not report.complete
    texts = {item.id.partition("::")[2]: item.text for item in report.results}
    assert "in test_deadlock" in texts["test_deadlock"] and "_pytest" not in texts["test_deadlock"]


def test_tests_without_time_are_not_called_wrong(tested):
    text = "import time\n\n" + "".join(f"def test_{n}():\n    time.sleep({patience(1)})\n\n" for n in range(99))
    report = tested({"test_slow.py": text}, seconds=4, each=2)
    found = outcomes(report)
    assert found["test_0"] == "passed" and found["test_98"] == "not run" and "failed" not in found.values()
    assert not report.complete and not report.problem and "did not run in the time" in report.counts


@pytest.mark.parametrize("where", ["test_a.py", "conftest.py"])
def test_file_hanging_at_import_is_named(tested, where):
    report = tested({where: "import time\n\ntime.sleep(1000)\n", "test_b.py": "def test(): pass\n"}, seconds=3, each=3)
    assert not report.complete and ("did not end" in report.counts or [item.id for item in report.failed] == [where])


def test_thread_keeping_pytest_alive_is_no_success(tested):
    text = "import threading, time\n\ndef test():\n    threading.Thread(target=time.sleep, args=(1000,)).start()\n"
    report = tested({"test_thread.py": text}, each=2)
    assert report.passed and not report.complete and "did not end after the last test" in report.problem


PASSING = "def test_one():\n    pass\n\n\ndef test_two():\n    assert 1 == 2\n\n\ndef test_three():\n    pass\n"


@pytest.mark.parametrize(
    ("options", "dropped"),
    [
        ("-n auto --dist loadfile", False),
        ("-x --tb=no", False),
        ("--no-such-option=1 --cov=shop", True),
        ("--doctest-modules", False),
    ],
)
def test_repository_options_neither_stop_nor_hide_tests(tested, options, dropped):
    report = tested({"pytest.ini": f"[pytest]\naddopts = {options}\n", "test_all.py": PASSING})
    assert len(report.passed) == 2 and report.counts == "1 of 3 tests failed" and report.options_dropped == dropped
    assert "assert 1 == 2" in report.failed[0].text


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (
            {"conftest.py": "from shop import Cart\n", "shop.py": ""},
            "ImportError: cannot import name 'Cart' from 'shop'",
        ),
        ({"conftest.py": "import pytest\npytest.exit('no database')\n"}, "no database"),
        ({"conftest.py": "def pytest_configure(config):\n    raise RuntimeError('no licence')\n"}, "no licence"),
        ({"conftest.py": "def pytest_collection(session):\n    raise RuntimeError('no disk')\n"}, "no disk"),
        ({"pytest.ini": "[pytest]\naddopts = -p shop_plugin\n", "shop_plugin.py": "from shop import Cart\n"}, "'shop'"),
        ({"pytest.ini": "[pytest]\nminversion = 99.0\n"}, "requires pytest-99.0"),
    ],
)
def test_why_pytest_does_not_start_is_told(tested, files, words):
    report = tested({"test_all.py": PASSING, **files})
    assert not report.results and words in report.problem and not report.remedy


@pytest.mark.parametrize("place", ["", "src/", "lib/"])
def test_repository_is_tested_not_what_is_installed(tested, tmp_path, monkeypatch, place):
    (tmp_path / "installed" / "shop").mkdir(parents=True)
    (tmp_path / "installed" / "shop" / "__init__.py").write_text("where = 'installed'\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "installed"))
    test = "from shop import where\n\ndef test():\n    assert where == 'here'\n"
    assert tested({f"{place}shop/__init__.py": "where = 'here'\n", "tests/test_shop.py": test}).complete


def test_configuration_above_does_not_rename_tests(tested, tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    report = tested({"tests/test_all.py": PASSING}, ["tests"], folder="inner")
    assert [item.id for item in report.failed] == ["tests/test_all.py::test_two"]


ENDING = "def pytest_collection_finish(session):\n    raise ValueError('no licence')\n"


def test_pytest_ended_by_itself_lacked_no_time(tested):
    report = tested({"conftest.py": ENDING, "test_all.py": PASSING})
    assert not report.complete and "no licence" in report.problem and "time" not in report.counts
