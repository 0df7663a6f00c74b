"""Code that ran, kept on disk: by version, within a cap, without credentials, whatever happens to the file."""

import stat
import sys
from dataclasses import replace

import anyio
import pytest

from exploracoder_jupyter.core.types import Snippet
from exploracoder_jupyter.knowledge.sources import SnippetSource, SnippetStore, snippets
from exploracoder_jupyter.knowledge.sources.snippets import MAX_SNIPPETS

READ = Snippet(
    "pandas", "2.2.1", "Read a CSV file into a frame", "import pandas\nf = pandas.read_csv('a.csv')",
    ("pandas.read_csv",), "3 rows", "3.11",
)  # fmt: skip
VERSIONS = {"pandas": "2.2.1"}


def _made(title, **more):
    return replace(READ, title=title, code=f"print({title!r})", **more)


def _titles(store, library=None):
    return [one.snippet.title for one in store.all(library)]


@pytest.fixture
def store(tmp_path):
    return SnippetStore(tmp_path / "cache" / "snippets.sqlite")


@pytest.fixture
def clock(monkeypatch):
    """Sets the day that it is."""

    def set_to(day):
        monkeypatch.setattr(snippets.time, "time", lambda: 1_000_000_000 + 86_400 * day)

    set_to(0)
    return set_to


def test_what_is_kept_reaches_the_next_process(store):
    store.add([READ], "values")
    [found] = SnippetStore(store.path).of(VERSIONS, "values")
    assert found.snippet == READ
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600 or sys.platform == "win32"


def test_only_the_exact_version_is_offered(store):
    store.add([READ, replace(READ, version="2.2.2"), replace(READ, library="polars")], "values")
    assert [one.snippet for one in store.of(VERSIONS, "values")] == [READ]
    assert store.of({}, "values") == []
    assert len(store.of({"pandas": "2.2.2", "polars": "2.2.1"}, "values")) == 2


def test_versions_unused_for_a_month_are_removed(store, clock):
    store.add([replace(READ, version="1.0"), replace(READ, version="1.1")], "values")
    old, used = sorted(store.all(), key=lambda one: one.snippet.version)
    clock(20)
    store.mark_used([used.id])
    clock(29)
    store.add([READ], "values")
    assert len(store.all("pandas")) == 3
    clock(31)
    store.add([READ], "values")
    assert sorted(one.snippet.version for one in store.all("pandas")) == ["1.1", "2.2.1"]
    assert old.id != used.id


def test_code_that_differs_in_layout_is_kept_once(store):
    store.add([READ], "values")
    store.add([replace(READ, code=f"{READ.code}  # reads it\n\n", title="Another title")], "values")
    [found] = store.all()
    assert (found.snippet.title, found.uses) == (READ.title, 1)


def test_the_least_used_and_oldest_make_room(store, clock):
    store.add([_made("often"), _made("seldom"), replace(_made("other"), library="polars")], "values")
    [often] = [one.id for one in store.all() if one.snippet.title == "often"]
    for _ in range(5):
        store.mark_used([often])
    clock(2)
    store.add([_made(str(number)) for number in range(MAX_SNIPPETS - 1)], "values")
    assert len(store.all("pandas")) == MAX_SNIPPETS
    assert "often" in _titles(store) and "seldom" not in _titles(store) and "other" in _titles(store)
    clock(3)
    store.add([_made("new")], "values")
    assert "new" in _titles(store) and "0" not in _titles(store)


def test_code_with_values_is_offered_only_with_values(store):
    store.add([_made("values")], "values")
    store.add([_made("schema")], "schema")
    store.add([_made("values then none"), _made("schema")], "values")
    store.add([_made("values then none")], "none")
    offered = {
        level: sorted(one.snippet.title for one in store.of(VERSIONS, level)) for level in ("values", "schema", "none")
    }
    assert offered == {
        "values": ["schema", "values", "values then none"],
        "schema": ["schema", "values then none"],
        "none": ["values then none"],
    }


@pytest.mark.parametrize("damage", [b"this is no database, but it is long enough for one" * 40, b"\0" * 8192])
def test_a_damaged_database_is_set_aside(store, damage):
    store.path.parent.mkdir()
    store.path.write_bytes(damage)
    assert store.all() == []
    store.add([READ], "values")
    assert _titles(store) == [READ.title]
    [aside] = store.path.parent.glob("snippets.sqlite.unsound-*")
    assert aside.read_bytes() == damage
    assert store.clear() == 1
    assert list(store.path.parent.glob("*.unsound-*")) == []


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path):
    (tmp_path / "file").write_text("")
    store = SnippetStore(tmp_path / "file" / "snippets.sqlite")
    store.add([READ], "values")
    store.mark_used(["x"])
    store.delete(["x"])
    assert store.all() == [] and store.clear() == 0


def test_what_is_cleared_is_gone_from_the_disk(store):
    store.add([READ, replace(_made("Uniquely told"), library="polars")], "values")
    assert store.clear("polars") == 1
    assert _titles(store) == [READ.title]
    assert b"Uniquely told" not in store.path.read_bytes()
    assert store.clear() == 1
    assert b"read_csv" not in store.path.read_bytes()


def _search(source, query, k=5):
    return anyio.run(source.search, query, k)


def test_a_later_task_finds_earlier_lessons(store):
    anyio.run(SnippetSource(store, VERSIONS).learn, [READ, _made("Draw a histogram of the ages")])
    [found] = _search(SnippetSource(store, VERSIONS), "read the csv file of ages")[:1]
    assert (found.passage.source, found.passage.title, found.passage.code) == ("snippet", READ.title, True)
    assert found.passage.text.startswith(READ.code) and found.passage.text.endswith("# 3 rows")
    assert (found.passage.apis, found.passage.version) == (READ.apis, "2.2.1")
    assert "pandas 2.2.1" in found.passage.origin
    assert {one.snippet.title: one.uses for one in store.all()}[READ.title] == 1
    assert _search(SnippetSource(store, {"pandas": "2.3.0"}), "read a csv file") == []


def test_steps_that_a_found_solution_repeats_are_left_out(store):
    whole = replace(READ, title="Read a CSV file and count its rows", code=f"{READ.code}\nprint(len(f))", observed="")
    other = replace(READ, title="Read another CSV file", code="import pandas\ng = pandas.read_csv('b.csv')")
    store.add([READ, whole, other], "values")
    found = anyio.run(SnippetSource(store, VERSIONS).search, "Read a CSV file and count its rows", 2)
    assert [hit.passage.title for hit in found] == [whole.title, other.title]


def test_what_does_not_run_any_more_is_forgotten(store):
    source = SnippetSource(store, VERSIONS)
    anyio.run(source.learn, [READ, _made("Read a CSV file in parts")])
    found = _search(source, "read a csv file")
    assert len(found) == 2
    anyio.run(source.forget, [found[0].passage.origin, "snippet nonsense", "https://example.org"])
    assert [hit.passage.title for hit in _search(source, "read a csv file")] == [found[1].passage.title]


def test_the_same_meaning_is_found_in_other_words(store):
    source = SnippetSource(store, VERSIONS)
    anyio.run(source.learn, [_made("Delete rows", apis=()), _made("Plot", apis=())])
    assert [hit.passage.title for hit in _search(source, "remove rows")] == ["Delete rows"]


def test_below_values_no_output_is_stored_or_returned(store):
    anyio.run(SnippetSource(store, VERSIONS, sharing="schema").learn, [READ])
    assert [one.snippet.observed for one in store.all()] == [""]
    store.clear()
    store.add([READ], "schema")
    [found] = _search(SnippetSource(store, VERSIONS, sharing="schema"), "read a csv file")
    assert found.passage.text == READ.code


@pytest.mark.parametrize(
    ("code", "secret"),
    [
        ("connect(password='hunter2pw')", "hunter2pw"),
        ("connect(password='pw99')", "pw99"),
        ("api_key = 'abcdef0123456789'\nprint(api_key)", "abcdef0123456789"),
        ("settings['secret'] = 'abcdef0123456789'", "abcdef0123456789"),
        ("settings = {'client_secret': 'abcdef0123456789'}", "abcdef0123456789"),
        ("_token: str = 'abcdef0123456789'", "abcdef0123456789"),
        ("self.token = b'abcdef0123456789'", "abcdef0123456789"),
        ("read_sql('x', 'postgres://me:hunter2pw@host/db')", "postgres://me:hunter2pw@host/db"),
        ("ask('told by the run')", "told by the run"),
    ],
)
def test_what_looks_like_a_credential_is_not_kept(store, code, secret):
    learned = replace(READ, code=code, title=f"Use {secret}", observed=f"connected as {secret}")
    source = SnippetSource(store, VERSIONS, clean=lambda text: text.replace("told by the run", "[redacted]"))
    anyio.run(source.learn, [learned])
    [one] = store.all()
    assert secret not in one.snippet.code
    assert "[redacted]" in one.snippet.code
    compile(one.snippet.code, "kept", "exec")
    if len(secret) > 8:
        assert secret.encode() not in store.path.read_bytes()


def test_odd_text_is_kept_and_endless_code_dropped(store):
    source = SnippetSource(store, VERSIONS)
    anyio.run(source.learn, [_made("lone \ud800 surrogate"), replace(READ, code="x = 1\n" * 10_000), _made("")])
    assert sorted(_titles(store)) == ["", "lone ? surrogate"]


def test_keeping_again_reveals_no_more_than_was_shared(store):
    store.add([READ], "values")
    store.add([replace(READ, title="Read a file", observed="")], "schema")
    store.add([READ], "values")
    [found] = store.of(VERSIONS, "schema")
    assert (found.snippet.title, found.snippet.observed) == ("Read a file", "")
