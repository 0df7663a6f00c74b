"""The SDK's client drives the server over standard streams against a real kernel, which stays as it is."""

import base64
import json
import shutil
import stat
import sys
import tempfile
import time
from pathlib import Path

import anyio
import nbformat
import psutil
import pytest

from tests.integration.agent_tools.mcp_client import agent, ask, bare_kernel, runtime_folder, state_of, users_kernel
from tests.json_output import json_result
from tests.levels import fully_confined
from tests.patience import patience
from tests.unit.knowledge.test_environment_search import GRAPHS, IMAGES, install

pytest.importorskip("mcp")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks live kernels"),
    pytest.mark.skipif(not fully_confined(), reason="a live kernel is forked unasked only where forks are confined"),
]
GIVEN = """
given_items, given_table = [1, 2], {"a": [1.5, 2.5]}
open("data.txt", "w").write("given")
"""


@pytest.fixture
def folder():
    """Of a short path, as sockets need it."""
    path = Path(tempfile.mkdtemp(prefix="mcp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


def forks_of(kernel):
    """The processes that have the kernel's command line, which forks inherit, except for the kernel itself."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if process.info["cmdline"] == kernel.process.cmdline() and process.pid != kernel.process.pid:
            found += [process] if process.info["status"] != psutil.STATUS_ZOMBIE else []
    return found


async def test_variants_leave_the_users_kernel_alone(folder):
    async with users_kernel(folder, GIVEN) as kernel, agent(folder) as client:
        before, count = await state_of(kernel, folder), (await kernel.run("1")).count
        [found] = (await client.call("list_kernels"))["kernels"]
        assert found == {
            "kernel": "users", "notebook": None, "language": "python", "busy": False, "why_not_forked": None
        }  # fmt: skip

        spoil = "given_items.clear(); given_table = 0; open('data.txt', 'w').write('spoiled'); given_items"
        a, b, c, d = await client.try_code(
            "users", spoil, "sum(given_items)", "given_items[0] + given_items[1]", "given_items['x']",
            check="assert len(given_items) == 2",
        )  # fmt: skip
        assert (a["result"], a["check"], a["files"]) == ("ran", "failed", ["data.txt"])
        assert "the left side is 0" in a["check_report"]
        assert (b["check"], b["shows"], c["same_as"]) == ("passed", "Output:\n3", "b")
        assert d["result"] == "failed" and "TypeError: list indices must be integers" in d["shows"]

        [e] = (
            await client.call(
                "try_variants",
                kernel="users",
                variants=[{"label": "e", "code": "given_items, open('data.txt').read()", "after": a["state"]}],
            )
        )["variants"]
        assert "spoiled" in e["shows"] and "[]" in e["shows"]
        [again] = await client.try_code("users", "given_items, open('data.txt').read()")
        assert "[1, 2]" in again["shows"] and "'given'" in again["shows"]

        variables = (await client.call("inspect_variables", kernel="users"))["variables"]
        assert variables["given_items"].startswith("list: 2 items")
        named = (await client.call("inspect_variables", kernel="users", names=["given_table", "absent"]))["variables"]
        assert "1.5" in named["given_table"] and "NameError" in named["absent"]

        assert await state_of(kernel, folder) == before
        assert (await kernel.run("1")).count == count + 1


async def test_images_are_returned_on_request(folder):
    draw = "import matplotlib.pyplot as plt\n%matplotlib inline\nplt.plot([1, 2]); plt.show()"
    false = "from IPython.display import display; display({'image/png': 'bm90IGEgcG5n'}, raw=True)"
    async with agent(folder) as client:
        variants = [{"label": "draw", "code": draw}, {"label": "false", "code": false}]
        result = await client.session.call_tool("try_variants", {"variants": variants, "images": 4})
        kinds = [part.type for part in result.content]
        assert kinds == ["text", "text", "image"] and result.content[1].text == "Shown by draw:"
        assert json.loads(result.content[0].text)["variants"][0]["images"] == 1
        assert base64.b64decode(result.content[2].data).startswith(b"\x89PNG")
        result = await client.session.call_tool("try_variants", {"variants": variants[:1]})
        assert [part.type for part in result.content] == ["text"]


async def test_variants_continue_from_one_another(folder):
    async with users_kernel(folder, GIVEN), agent(folder) as client:
        variants = [
            {"label": "read", "code": "total = sum(given_items)"},
            {"label": "double", "code": "total *= 2", "after": "read"},
            {"label": "show", "code": "total", "after": "double"},
            {"label": "other", "code": "total", "after": "read"},
        ]
        answer = await client.call("try_variants", kernel="users", variants=variants)
        shown = {one["label"]: one.get("shows", "") for one in answer["variants"]}
        assert ("6" in shown["show"], "3" in shown["other"]) == (True, True)

        failed, text = await client.attempt(
            "try_variants", kernel="users", variants=[{"label": "x", "code": "1", "after": "nowhere"}]
        )
        assert failed and "There is no state 'nowhere'" in text and "1/double" in text
        failed, text = await client.attempt("try_variants", kernel="users", variants=variants[::-1])
        assert failed and "not listed before it" in text


async def test_code_that_hangs_exits_or_floods_is_a_result(folder):
    async with users_kernel(folder, GIVEN) as kernel, agent(folder) as client:
        before = await state_of(kernel, folder)
        codes = (
            "while True: pass",
            "import os; os._exit(3)",
            "while True: print('x' * 10_000)",
            "import ctypes; ctypes.string_at(0)",
            "x = bytearray(64 << 30)",
            "import socket; socket.create_connection(('127.0.0.1', 22), 1)",
            "given_items",
        )
        start = time.monotonic()
        results = await client.try_code("users", *codes, timeout=3.0)
        assert time.monotonic() - start < patience(40)
        ended = [one["result"] for one in results]
        assert ended.pop(2) in ("interrupted", "timed out")  # a busy machine may not print enough in time
        assert ended == ["timed out", "died", "died", "failed", "failed", "ran"]
        assert results[0]["state"] is None
        assert await state_of(kernel, folder) == before


async def test_hostile_arguments_are_refused_in_one_sentence(folder):
    async with users_kernel(folder, GIVEN) as kernel, agent(folder) as client:
        code = [{"label": "a", "code": "1"}]
        hostile = [
            ("try_variants", {"kernel": "../../../etc/passwd", "variants": code}),
            ("try_variants", {"kernel": "", "variants": code}),
            ("try_variants", {"kernel": "users", "variants": []}),
            ("try_variants", {"kernel": "users", "variants": [{"label": str(n), "code": "1"} for n in range(9)]}),
            ("try_variants", {"kernel": "users", "variants": [{"label": "a", "code": "1" * 60_000}]}),
            ("try_variants", {"kernel": "users", "variants": [{"label": "a/../b", "code": "1"}]}),
            ("try_variants", {"kernel": "users", "variants": code * 2}),
            ("try_variants", {"kernel": "users", "variants": code, "timeout": 1e9}),
            ("try_variants", {"kernel": "users", "variants": code, "max_tokens": 10**9}),
            ("try_variants", {"kernel": "users", "variants": code, "check": "x = 1"}),
            ("inspect_variables", {"kernel": "users", "names": ["given_items.clear()"]}),
            ("inspect_variables", {"kernel": "users", "names": ["__import__"] * 21}),
            ("read_api", {"paths": ["os; import os"]}),
            ("find_packages", {"query": "--help", "k": 0}),
            ("find_packages", {"query": "?!"}),
            ("search_apis", {"query": " ", "libraries": ["json"]}),
            ("search_apis", {"query": "x", "libraries": ["--help"]}),
            ("explore_status", {"id": "../x"}),
            ("check_trace", {"path": "/etc/passwd"}),
        ]
        before = await state_of(kernel, folder)
        for tool, arguments in hostile:
            failed, text = await client.attempt(tool, **arguments)
            assert failed, (tool, arguments)
            assert "Traceback" not in text and "root:" not in text, text
        assert await state_of(kernel, folder) == before
        assert (await client.try_code("users", "given_items"))[0]["result"] == "ran"


async def test_a_kernel_that_is_busy_or_dies_is_reported(folder):
    async with users_kernel(folder, GIVEN) as kernel, agent(folder) as client:
        waiting = "import pathlib, time\nwhile not pathlib.Path('go').exists():\n    time.sleep(0.1)"
        request = kernel.client.execute(waiting)
        await anyio.sleep(patience(0.5))
        [found] = (await client.call("list_kernels"))["kernels"]
        assert found["busy"] and found["language"] == "python"
        (folder / "work" / "go").touch()
        await kernel.finish(request)

        [first] = await client.try_code("users", "kept = 5")
        kernel.process.kill()
        kernel.process.wait(patience(10))
        assert first["result"] == "ran" and (await client.call("list_kernels"))["kernels"] == []
        failed, text = await client.attempt("try_variants", kernel="users", variants=[{"label": "c", "code": "1"}])
        assert failed and "There is no running kernel 'users'" in text
        assert (await client.try_code("fresh", "1 + 1"))[0]["shows"] == "Output:\n2"


async def test_what_the_user_does_not_share_stays_unseen(folder, monkeypatch):
    config = Path(tempfile.mkdtemp(dir=folder)) / "config.toml"
    monkeypatch.setenv("EXPLORACODER_CONFIG", str(config))
    monkeypatch.setenv("EXPLORACODER_API_KEY", "sk-4f9c1d7e2b8a6035c4d1e9f7a2b8c3d4")
    config.write_text('[endpoint]\nshare = "none"\n')
    async with users_kernel(folder, "given_secretless = 'blue whale'") as kernel, agent(folder) as client:
        failed, text = await client.attempt("inspect_variables", kernel="users", names=["given_secretless"])
        assert failed and "share = none" in text and "whale" not in text
        [result] = await client.try_code("users", "print(given_secretless); given_secretless")
        assert result["result"] == "ran" and "whale" not in json.dumps(result)

        config.write_text('[endpoint]\nshare = "values"\n')
        [result] = await client.try_code("users", "import os; print(*os.environ.values())")
        assert "sk-4f9c1d7e" not in json.dumps(result)
        assert (await kernel.run("token = 'ghp_0123456789abcdefghijklmnopqrstuvwxyz'")).outcome == "ok"
        [found] = (await client.call("list_kernels"))["kernels"]
        assert found["why_not_forked"] == "variables look like credentials: token"
        failed, text = await client.attempt("try_variants", kernel="users", variants=[{"label": "a", "code": "1"}])
        assert failed and "look like credentials (token)" in text and "ghp_" not in text


async def test_everything_ends_with_the_client_and_is_logged(folder, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    children = psutil.Process().children
    async with users_kernel(folder, GIVEN) as kernel:
        async with agent(folder) as client:
            await client.try_code("users", "print('tried')", "given_items")
            await client.attempt("try_variants", kernel="absent", variants=[{"label": "a", "code": "1"}])
            [server] = [one for one in children() if "mcp" in one.cmdline()]
            assert len(forks_of(kernel)) > 1
        psutil.wait_procs([server, *forks_of(kernel)], patience(10))
        assert (server.is_running(), forks_of(kernel)) == (False, [])
        assert kernel.process.is_running()
        log = folder / "state" / "exploracoder_jupyter" / "agent_calls.jsonl"
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        assert [(row["tool"], row["outcome"]) for row in rows] == [
            ("try_variants", "answered"),
            ("try_variants", "There is no running kernel 'absent'."),
        ]
        assert rows[0]["arguments"]["variants"][0]["code"] == "print('tried')"
        assert stat.S_IMODE(log.stat().st_mode) == 0o600
        command = [sys.executable, "-m", "exploracoder_jupyter.cli", "history", "--calls", "-n", "1", "--json"]
        done = await anyio.run_process(command)
        assert [call["tool"] for call in json_result("history", done.stdout)["calls"]] == ["try_variants"]


async def test_a_notebook_shows_what_was_tried(folder):
    path = folder / "tries.ipynb"
    async with agent(folder, "--trace", str(path)) as client:
        await client.try_code("fresh", "x = 6", "1 / 0", check="assert x == 6")
        secret = "print('sk-4f9c1d7e2b8a6035c4d1e9f7a2b8c3d4'); 7"
        [tried] = await client.try_code("fresh", secret)
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    assert [cell.source for cell in notebook.cells if cell.cell_type == "code"][:2] == ["x = 6", "1 / 0"]
    _, failed, printed = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    assert (failed[0].ename, printed[-1].data["text/plain"]) == ("ZeroDivisionError", "7")
    assert "4f9c1d7e" not in path.read_text() and "check passed" in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and tried["result"] == "ran"
    command = [sys.executable, "-m", "exploracoder_jupyter.cli", "mcp", "--trace", str(path)]
    refused = await anyio.run_process(command, check=False)
    assert refused.returncode == 2 and nbformat.read(path, 4) == notebook


async def test_a_call_that_is_given_up_ends_nothing_else(folder):
    async with users_kernel(folder, GIVEN) as kernel, agent(folder) as client:
        [first] = await client.try_code("users", "kept = 5")
        with anyio.move_on_after(patience(3)) as scope:
            await client.try_code("users", "while True: pass", timeout=100)
        assert scope.cancelled_caught
        variants = [{"label": "b", "code": "kept", "after": first["state"]}]
        answer = await client.call("try_variants", kernel="users", variants=variants)
        assert "5" in answer["variants"][0]["shows"]
        assert kernel.process.is_running()


async def test_a_flood_of_calls_is_answered_in_turn(folder):
    async with users_kernel(folder, GIVEN), agent(folder) as client:
        results = []

        async def one(number):
            results.append((await client.try_code("users", f"sum(given_items) + {number}"))[0]["shows"])

        async with anyio.create_task_group() as tasks:
            for number in range(8):
                tasks.start_soon(one, number)
        assert sorted(results) == sorted(f"Output:\n{3 + number}" for number in range(8))


async def test_two_clients_of_one_kernel_see_no_states_of_each_other(folder):
    async with users_kernel(folder, GIVEN), agent(folder) as one, agent(folder) as other:
        results = {}

        async def try_one(client, code):
            results[code] = (await client.try_code("users", code))[0]

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(try_one, one, "mine = 1; mine")
            tasks.start_soon(try_one, other, "mine = 2; mine")
        assert [one["result"] for one in results.values()] == ["ran", "ran"]
        failed, text = await other.attempt(
            "try_variants", kernel="users", variants=[{"label": "z", "code": "mine", "after": "b"}]
        )
        assert failed and "There is no state" in text


async def test_libraries_are_read_as_installed(folder):
    async with agent(folder) as client:
        runtime_folder(folder)
        found = await client.call("search_apis", query="decode text", libraries=["json"], k=3)
        assert any(one["path"] == "json.loads" for one in found["results"])
        read = await client.call("read_api", paths=["json.dumps", "json.dump_all"], source=True)
        first, second = read["apis"]
        assert "sort_keys" in first["signature"] and "def dumps" in first["source"]
        assert "json.dumps" in second["similar"]
        small = await client.attempt("read_api", paths=["json.dumps"], source=True, max_tokens=200)
        assert len(small[1]) < 1600 and "left out" in small[1]


async def test_a_library_beside_the_notebook_is_read(folder):
    async with users_kernel(folder, GIVEN) as kernel, agent(folder) as client:
        for place in ("work", "."):
            (folder / place / "beside_it.py").write_text(f'def pour():\n    """Pour what {place} has."""\n')
        [theirs] = (await client.call("read_api", paths=["beside_it.pour"], kernel="users"))["apis"]
        [ours] = (await client.call("read_api", paths=["beside_it.pour"]))["apis"]
        found = await client.call("search_apis", query="pour", libraries=["beside_it"], kernel="users")
        assert kernel.process.is_running()
    assert (theirs["documentation"], ours["documentation"]) == ("Pour what work has.", "Pour what . has.")
    assert found["results"][0]["path"] == "beside_it.pour"


async def test_a_long_printed_text_is_read_whole(folder):
    async with agent(folder) as client:
        code = "print('\\n'.join(f'line {number}' for number in range(2_000)))"
        [shown] = await client.try_code("fresh", code, max_tokens=20_000)
        [cut] = await client.try_code("fresh", code)
    assert "line 1000\n" in shown["shows"]
    assert "line 1000\n" not in cut["shows"]


async def test_packages_of_the_environment_are_found(folder, monkeypatch):
    site, python = folder / "site", folder / "python"
    install(site, "paintkit", IMAGES, summary="Work with pictures")
    install(site, "routes", GRAPHS, summary="Paths in graphs")
    python.write_text(f"#!/bin/sh\necho '{json.dumps([[str(site)], '/lib'])}'\n")
    python.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("EXPLORACODER_CONFIG", str(folder / "config.toml"))
    (folder / "config.toml").write_text(f'[sandbox]\npython = "{python}"\n')
    async with agent(folder) as client:
        found = await client.call("find_packages", query="average colour of a picture", k=1)
    assert [one["name"] for one in found["packages"]] == ["paintkit"]
    assert "paintkit.Picture.average_colour" in json.dumps(found["packages"][0]["apis"])
    assert (found["packages_read"], found["packages_installed"]) == (2, 2)


async def test_a_kernel_that_cannot_be_forked_sends_variables(folder):
    code = """
import polars
given_frame = polars.DataFrame({"city": ["Graz", "Linz"], "rain": [0.5, None]})
given_rain = given_frame["rain"].drop_nulls().to_list()
given_frame.group_by("city").len()
given_open, api_token = open("data.txt", "w"), "sk-abcdefghijklmnopqrstuvwx123456"
def given_mean(frame): return frame["rain"].mean()
"""
    async with users_kernel(folder, code) as kernel, agent(folder) as client:
        count = (await kernel.run("given_frame.hash_rows().sum()")).count
        [found] = (await client.call("list_kernels"))["kernels"]
        assert "polars" in found["why_not_forked"]

        codes = ("given_frame.columns, given_mean(given_frame)", "given_frame = None", "given_open", "api_token")
        variants = [{"label": str(place), "code": code} for place, code in enumerate(codes)]
        answer = await client.call("try_variants", kernel="users", variants=variants)
        shown = [one["shows"] for one in answer["variants"]]
        assert "'city', 'rain'" in shown[0] and "0.5" in shown[0]
        assert "NameError" in shown[2] and "NameError" in shown[3] and "sk-abc" not in json.dumps(answer)
        told = "\n".join(answer["notices"])
        assert "given_frame, given_mean" in told and "given_open" in told and "credential" in told
        assert answer["starts_from"] == "a new kernel with variables of this one"

        listed = (await client.call("inspect_variables", kernel="users"))["variables"]
        assert listed["given_frame"] == "polars.dataframe.frame.DataFrame"
        named = (await client.call("inspect_variables", kernel="users", names=["given_frame"]))["variables"]
        assert "2 rows" in named["given_frame"] and "Graz" in named["given_frame"]

        arguments = {"kernel": "users", "libraries": ["statistics"], "check": "assert result == 0.5"}
        started = await client.call("explore_task", task="Compute the median of given_rain", **arguments)
        status = await client.call("explore_status", id=started["id"], wait=45)
        while status["state"] == "running":
            status = await client.call("explore_status", id=started["id"], wait=45)
        assert status["result"]["status"] == "solved" and "given_rain" in status["result"]["solution"]
        failed, text = await client.attempt("explore_task", task="Compute the median of `given_open`", **arguments)
        assert failed and "given_open" in text

        after = await kernel.run("given_frame.columns")
        assert (after.outcome, after.count) == ("ok", count + 1)
    assert not list(Path(tempfile.gettempdir()).glob("explora-*/given_frame.json"))


async def test_a_kernel_without_the_package_is_forked(folder):
    async with bare_kernel(folder) as kernel, agent(folder) as client:
        loaded = "sorted(__import__('sys').modules), __import__('sys').path, sorted(globals())"
        await ask(kernel, "__import__('builtins').exec('import json\\nvalues = [3, 4]', globals())")
        if await ask(kernel, "__import__('importlib.util').util.find_spec('exploracoder_jupyter')") != "None":
            pytest.skip("this package is installed in the environment of the kernel")
        await client.try_code("bare", "1")  # modules of the standard library are loaded by the first
        before = await ask(kernel, loaded)
        a, b, c = await client.try_code(
            "bare", "values.append(5); sum(values)", "values[7]", "import nothing_of_this_name", check="assert values"
        )
        assert (a["shows"].splitlines()[1], a["check"]) == ("12", "passed")
        assert "IndexError" in b["shows"] and "No module named" in c["shows"]
        variables = (await client.call("inspect_variables", kernel="bare"))["variables"]
        assert variables["values"].startswith("list: 2 items")
        read = await client.call("read_api", paths=["json.dumps"], kernel="bare")
        assert "sort_keys" in read["apis"][0]["signature"]
        assert await ask(kernel, loaded) == before and await ask(kernel, "values") == "[3, 4]"


async def test_a_whole_task_is_explored_and_its_trace_checked(folder):
    async with users_kernel(folder, "given_numbers = [1, 5, 2]") as kernel, agent(folder) as client:
        before = await state_of(kernel, folder)
        started = await client.call(
            "explore_task",
            task="Compute the median of given_numbers",
            libraries=["statistics"],
            check="assert result == 2",
            kernel="users",
        )
        status = await client.call("explore_status", id=started["id"], wait=45)
        while status["state"] == "running":
            status = await client.call("explore_status", id=started["id"], wait=45)
        assert status["result"]["status"] == "solved" and "given_numbers" in status["result"]["solution"]
        assert status["result"]["state"].startswith("live")
        failed, text = await client.attempt("steer_exploration", id=started["id"], control="stop")
        assert failed and "has ended" in text
        assert await state_of(kernel, folder) == before

        arguments = {
            "task": "Compute the median of [1, 5, 2]",
            "libraries": ["statistics"],
            "check": "assert result == 2",
        }
        status = await client.call("explore_status", id=(await client.call("explore_task", **arguments))["id"], wait=45)
        assert status["result"]["state"] == "fresh: as requested"
        checked = await client.call("check_trace", path=status["result"]["trace"])
        assert checked["same"] and checked["summary"].startswith("Same")

        started = await client.call("explore_task", task="Compute the mode of [1, 1, 2]", libraries=["statistics"])
        await client.call("steer_exploration", id=started["id"], control="stop")
        stopped = await client.call("explore_status", id=started["id"], wait=45)
        assert stopped["state"] == "ended" and stopped["result"]["status"] in ("stopped", "unchecked")
        failed, text = await client.attempt("explore_task", task="x", libraries=["statistics"], check="assert")
        assert failed and "syntax error" in text
