"""Numbers and lists in the documentation are those of the code: commands, options, buttons, levels, limits."""

import ast
import importlib.util
import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from exploracoder_jupyter.agent_tools.jupyter_server_tools import TOOLS
from exploracoder_jupyter.core.configuration.sources import VARIABLES
from exploracoder_jupyter.ipython_extension.tab_completion import COMMANDS
from exploracoder_jupyter.kernels.sandbox.fork_sandbox import LevelName

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "exploracoder_jupyter"
DOCS = ROOT / "docs"
PAGE_SOURCE = ROOT / "labextension" / "src"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]


def _page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def _rows(name, head):
    """The first cells of the table of this page whose head begins so."""
    lines = iter(re.sub(r"```.*?```", "", _page(name), flags=re.DOTALL).splitlines())
    next(line for line in lines if line.startswith(f"| {head} |"))
    next(lines)
    rows = []
    for line in lines:
        if not line.startswith("|"):
            return rows
        rows.append(line.split("|")[1].strip())
    return rows


def _tables():
    spec = importlib.util.spec_from_file_location("settings_table", ROOT / "scripts" / "settings_table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path, name, table", _tables().TABLES, ids=lambda value: getattr(value, "__name__", None))
def test_generated_tables_are_current(path, name, table):
    text = path.read_text(encoding="utf-8")
    assert f"<!-- {name}: begin" in text
    assert _tables().current_page(text, name, table()) == text, "run `python scripts/settings_table.py`"


def _constant(path, name):
    """The number that a constant has in this file of the package."""
    for node in ast.parse((PACKAGE / path).read_text(encoding="utf-8")).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(one, ast.Name) and one.id == name for one in targets):
            return ast.literal_eval(node.value)
    raise LookupError(f"{path} has no {name}")


FIGURES = [
    # page, pattern with the figure, file and name of the constant, the constant in the page's unit
    ("guides/web.md", r"at most ([\d,]+) characters", "web/search.py", "_MAX_QUERY_CHARS", 1),
    ("guides/web.md", r"([\d,]+) queries in a run", "web/web_source.py", "_MAX_QUERIES", 1),
    ("guides/private-library.md", r"([\d,]+) files", "knowledge/documents/document_files.py", "MAX_FILES", 1),
    ("guides/private-library.md", r"([\d,]+) MB in all", "knowledge/documents/document_files.py", "MAX_BYTES", 1e6),
    (
        "guides/private-library.md",
        r"([\d,]+) MB a\s+file",
        "knowledge/documents/document_files.py",
        "MAX_FILE_BYTES",
        1e6,
    ),
    (
        "guides/private-library.md",
        r"notebooks\s+([\d,]+)\s+MB",
        "knowledge/documents/document_files.py",
        "MAX_DATA_BYTES",
        1e6,
    ),
    (
        "guides/private-library.md",
        r"([\d,]+)\s+seconds in all",
        "knowledge/documents/document_files.py",
        "MAX_SECONDS",
        1,
    ),
    (
        "guides/private-library.md",
        r"([\d,]+)\s+seconds\s+a\s+file",
        "knowledge/documents/document_files.py",
        "MAX_FILE_SECONDS",
        1,
    ),
    ("explanation/knowledge.md", r"([\d,]+)\s+snippets", "knowledge/sources/snippets.py", "MAX_SNIPPETS", 1),
    ("guides/task.md", r"at most ([\d,]+)\s+variables", "ipython_extension/user_variables.py", "MAX_NAMES", 1),
    ("guides/find.md", r"score\s+is\s+([\d.]+)\s+times", "runs/library_choice.py", "AHEAD", 1),
    ("agents.md", r"([\d,]+)\s+variants", "agent_tools/tool_limits.py", "MAX_VARIANTS", 1),
    ("agents.md", r"([\d,]+)\s+characters", "agent_tools/tool_limits.py", "MAX_CODE", 1),
    ("agents.md", r"([\d,]+)\s+seconds\s+each", "agent_tools/tool_limits.py", "MAX_SECONDS", 1),
    ("agents.md", r"([\d,]+)\s+minutes\s+without", "agent_tools/tool_limits.py", "IDLE_SECONDS", 60),
]


@pytest.mark.parametrize("page, pattern, path, name, unit", FIGURES, ids=[f"{one[0]}-{one[3]}" for one in FIGURES])
def test_limits_in_the_pages_are_those_of_the_code(page, pattern, path, name, unit):
    found = re.findall(pattern, _page(page))
    assert found, f"docs/{page} does not state {name}"
    assert {float(one.replace(",", "")) for one in found} == {_constant(path, name) / unit}


def _defaults():
    return {f"{row.section}.{row.name}": row.default for row in _tables().setting_fields()}


BUDGETS = [
    ("guides/budget.md", r"([\d,]+) tokens,", "budget.tokens", 1),
    ("guides/budget.md", r"([\d,]+) minutes or", "budget.seconds", 60),
    ("guides/budget.md", r"([\d,]+) executions", "budget.executions", 1),
    ("guides/runs.md", r"after ([\d,]+) days", "history.days", 1),
    ("guides/runs.md", r"more than\s+([\d,]+)", "history.runs", 1),
]


@pytest.mark.parametrize("page, pattern, setting, unit", BUDGETS, ids=[one[2] for one in BUDGETS])
def test_defaults_in_the_guides_are_those_of_the_settings(page, pattern, setting, unit):
    found = re.search(pattern, _page(page))
    assert found, f"docs/{page} does not state {setting}"
    assert float(found[1].replace(",", "")) == _defaults()[setting] / unit


def test_the_readme_states_the_default_budget():
    found = re.search(r"([\d,]+) tokens or ([\d,]+) minutes", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert found and float(found[1].replace(",", "")) == _defaults()["budget.tokens"]
    assert float(found[2]) * 60 == _defaults()["budget.seconds"]


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_guides_explain_every_magic(command):
    assert f"%explora {command}" in "".join(
        map(_page, ("guides/runs.md", "guides/search.md", "guides/find.md", "undo.md"))
    )


def _labels(*files):
    """The texts of the buttons in these files, without tooltips, which are longer, and those of a request under way."""
    source = "\n".join((PAGE_SOURCE / file).read_text(encoding="utf-8") for file in files)
    texts = re.findall(r"(?<!aria-label=\{)trans\.__\('([^']{1,24})'", source)
    return {text.rstrip("…") for text in texts if not re.fullmatch(r"\w+ing…", text)}


def test_the_notebook_page_lists_every_button_of_the_card():
    listed = {name for row in _rows("guides/notebook.md", "Below the card") for name in row.split(", ")}
    known = _labels("card/cardButtons.ts")
    assert {"Run here", "Apply patch", "Undo patch", "Compare"} <= known
    assert known <= listed


def test_the_notebook_page_lists_buttons_that_exist():
    rows = [*_rows("guides/notebook.md", "Below the card"), *_rows("guides/steer.md", "In the sidebar")]
    texts = "\n".join(
        path.read_text(encoding="utf-8") for path in PAGE_SOURCE.rglob("*.ts*") if "__tests__" not in path.parts
    )
    names = {name for row in rows for name in row.split(", ")}
    assert [name for name in names if f"'{name}'" not in texts and f"'{name}…'" not in texts] == []


def test_the_notebook_page_lists_the_sidebars_controls():
    page = _page("guides/steer.md")
    controls = _labels("sidebar/RunActions.tsx", "sidebar/ItemActions.tsx")
    assert {"Stop", "Explore step by step", "Retry with a hint"} <= controls
    assert [name for name in controls if name not in page] == []


def test_the_agents_page_lists_every_tool():
    source = (PACKAGE / "agent_tools" / "tool_server.py").read_text(encoding="utf-8")
    tools = set(re.findall(r"async def (\w+)_tool\(", source))
    listed = {name for row in _rows("agents.md", "tool") for name in re.findall(r"`(\w+)`", row)}
    assert listed == tools and len(tools) >= 9
    assert [tool for tool in TOOLS if f"`{tool.rpartition(':')[2]}`" not in _page("agents.md")] == []


def test_the_configuration_page_lists_every_variable():
    rows = [line for line in _page("configuration.md").splitlines() if line.startswith("| ")]
    listed = {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}
    assert set(VARIABLES) <= listed


def test_the_evaluation_page_lists_every_strategy():
    registered = set(PROJECT["entry-points"]["exploracoder_jupyter.strategies"])
    rows = [*_rows("evaluation.md", "strategy"), *_rows("evaluation.md", "Strategy")]
    assert {name for row in rows for name in re.findall(r"`([\w-]+)`", row)} == registered
    ours = [name for name in registered if name != "rrr" and not name.startswith("repository-")]
    assert f"{len(ours)} strategies" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_export_page_lists_every_format():
    assert {row.strip("`") for row in _rows("guides/export.md", "`--to`")} == set(
        PROJECT["entry-points"]["exploracoder_jupyter.exporters"]
    )


def test_the_plugin_page_lists_every_group():
    groups = {name for name in PROJECT["entry-points"] if name.startswith("exploracoder_jupyter.")}
    assert {row.strip("`") for row in _rows("plugins.md", "group")} == groups


def test_the_attack_page_has_a_column_for_every_level():
    levels = {name for name in get_args(LevelName) if name != "open"}
    assert [name for name in levels if name not in _page("hostile.md")] == []


def test_extras_that_the_pages_mention_exist():
    known = set(PROJECT["optional-dependencies"])
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    named = {
        extra.strip()
        for text in texts
        for found in re.findall(r"(?:exploracoder-jupyter|-e '?\.)\[([\w, ]+)\]", text)
        for extra in found.split(",")
    }
    assert named and named <= known


def test_links_to_headings_of_pages_lead_somewhere():
    """Those of the README too, of which no site is built."""

    def slugs(text):
        heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)|`", r"\1", head).lower() for head in heads]
        return {re.sub(r" ", "-", re.sub(r"[^\w\- ]", "", head)) for head in plain}

    broken = []
    for page in PAGES:
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*\.md)#([^)]+)\)", page.read_text(encoding="utf-8")):
            path = page.parent / target
            if path.exists() and anchor not in slugs(path.read_text(encoding="utf-8")):
                broken.append(f"{page.name}: {target}#{anchor}")
    assert broken == []


def test_the_results_are_those_of_the_measurements():
    number = r"(?<![\w.-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w-])"
    measured = re.findall(number, (ROOT / "benchmarks" / "MEASUREMENTS.md").read_text(encoding="utf-8"))
    text = re.sub(r"\([^)]*\.md[^)]*\)|`[^`]*`", "", _page("results.md"))
    figures = {figure.replace(",", "") for figure in re.findall(number, text)}
    assert len(figures) > 40
    assert figures - {figure.replace(",", "") for figure in measured} == set()


def test_the_readme_states_measured_figures():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = [[cell.strip() for cell in line.split("|")[2:4]] for line in readme.splitlines() if line.startswith("| ")]
    measured = [[cell.strip(" *") for cell in line.split("|")] for line in _page("results.md").splitlines()]
    rows = {row[1].partition("`")[2].partition("`")[0]: row for row in measured if len(row) > 5 and "`" in row[1]}
    hard = {name: [row[3].partition(" ")[0], row[5]] for name, row in rows.items()}
    assert shown[2:] == [hard[name] for name in ("direct", "rag", "adaptive")]
    published, tokens = re.search(r"published method solves all (\d+), for ([\d,]+) tokens", readme).groups()
    assert [published, tokens] == hard["exploracoder"]
    calls, spent = re.search(r"took (\d+) calls and ([\d,]+) tokens", readme).groups()
    assert (float(calls), spent) == (round(float(rows["adaptive"][6])), hard["adaptive"][1])
    prices = r"([\d.]+) cents at a price of ([\d.]+) .*?, ([\d.]+)\s+at (\d+), ([\d.]+) at (\d+)"
    given = re.search(prices, readme).groups()
    for cents, price in zip(given[::2], given[1::2], strict=True):
        assert float(cents) == pytest.approx(int(spent.replace(",", "")) * float(price) / 10_000, rel=0.1)


def test_the_installation_page_lists_the_extras_of_users():
    rows = {row.strip("`") for row in _rows("install.md", "extra")}
    assert rows == set(PROJECT["optional-dependencies"]) - {"dev", "widgets"}
