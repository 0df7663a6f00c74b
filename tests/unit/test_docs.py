"""The documentation keeps up: its tables are current, its links lead somewhere, its commands can be typed."""

import ast
import importlib
import json
import re
import shlex
from pathlib import Path
from typing import get_args

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from exploracoder_jupyter.cli.argument_parser import build_parser
from exploracoder_jupyter.cli.json_results import result_schemas
from exploracoder_jupyter.core.configuration.sources import resolve
from exploracoder_jupyter.core.events import Event
from exploracoder_jupyter.ipython_extension.magic_line import help_text, parse_magic_line
from exploracoder_jupyter.ipython_extension.magics import ExploraMagics
from exploracoder_jupyter.ipython_extension.tab_completion import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


MADE = re.compile(r"reference/(commands|magics|json)\.md$")
"""Pages that are made from code when the site is built, which checks links to them."""


def _blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def _commands():
    lines = [line for page in PAGES for block in _blocks(page, "bash") for line in block.splitlines()]
    return sorted(
        {re.split(" [>&|]", line.split("jupyter explora ", 1)[1])[0] for line in lines if "jupyter explora " in line}
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?://|#|mailto:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists() and not MADE.search(target)] == []


def _all_blocks(language):
    return [block for page in PAGES for block in _blocks(page, language)]


def test_python_of_the_pages_compiles_and_imports():
    programs = [ast.parse(TransformerManager().transform_cell(block)) for block in _all_blocks("python")]
    imports = [node for program in programs for node in ast.walk(program) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imports if node.module.startswith("exploracoder_jupyter")]
    assert len(ours) >= 5
    for node in ours:
        for name in node.names:
            assert hasattr(importlib.import_module(node.module), name.name)


def test_the_cells_of_the_pages_can_be_run():
    lines = re.findall(r"^ *%%explora (.*)", "\n".join(_all_blocks("text")), re.MULTILINE)
    lines = [line for line in lines if not line.startswith("(")]  # a drawing
    assert len(lines) >= 3
    for line in lines:
        parse_magic_line(line)


def test_the_config_files_of_the_pages_are_valid(tmp_path):
    blocks = [block for block in _all_blocks("toml") if "[project]" not in block]
    assert len(blocks) >= 2
    for block in blocks:
        (tmp_path / "config.toml").write_text(block)
        assert resolve(path=tmp_path / "config.toml", environ={}) != resolve(environ={})


def test_the_json_of_the_pages_is_valid():
    for block in _all_blocks("json"):
        json.loads(block)


def test_the_options_that_the_pages_mention_exist(capsys):
    for command in {*result_schemas()} - {"error"}:
        with pytest.raises(SystemExit):
            build_parser().parse_args([command, "--help"])
    known = re.findall(r"--[a-z-]+", capsys.readouterr().out + help_text() + ExploraMagics.command.__doc__)
    pages = [page for page in PAGES if page.name not in ("CONTRIBUTING.md",)]
    code = "\n".join(found for page in pages for found in re.findall("`[^`\n]+`", page.read_text(encoding="utf-8")))
    mentioned = re.findall(r"(?<![\w-])--[a-z][a-z-]*", code)
    assert {*mentioned} - {*known} == {"--config-dir", "--output"}  # of jupyter and nbconvert


def test_the_pages_have_commands():
    assert len(_commands()) >= 10


@pytest.mark.parametrize("command", _commands())
def test_the_commands_of_the_pages_can_be_typed(command):
    build_parser().parse_args(shlex.split(command, comments=True))


def test_the_architecture_page_shows_every_part():
    tree = _blocks(ROOT / "docs" / "architecture.md", "text")[1]
    parts = [
        path
        for path in (ROOT / "exploracoder_jupyter").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    ]
    missing = [path.name for path in parts if f"  {path.name}{'/' if path.is_dir() else ''} " not in tree]
    assert missing == []


def _listed_paths():
    """Yield the paths that the page draws as a tree, of which a line may name several."""
    above = []
    for line in _blocks(ROOT / "docs" / "architecture.md", "text")[1].splitlines():
        names = re.match(r"(?:\s*[\w.]+(?:/|\.py)(?=\s|$))*", line)[0].split()
        level = (len(line) - len(line.lstrip())) // 2
        yield from ("".join([*above[:level], name]) for name in names)
        above[level:] = names[:1]


def test_the_folders_of_the_architecture_page_exist():
    listed = list(_listed_paths())
    assert "exploracoder_jupyter/core/secrets/" in listed and "labextension/" in listed
    assert [path for path in listed if not (ROOT / path).exists()] == []


def test_the_files_that_the_architecture_page_names_exist():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    spans = set(re.findall(r"`([^`\s]+)`", re.sub(r"```.*?```", "", page, flags=re.DOTALL)))
    paths = {span for span in spans if re.fullmatch(r"[\w./-]+(?:/|\.(?:py|ts|tsx|toml|yml))", span)}
    assert {"trace/file.py", "trace/output_sanitizer.py", "labextension/src/card/"} <= paths
    folders = [ROOT / name for name in ("exploracoder_jupyter", "labextension/src", "scripts", "tests")]
    tracked = [path for folder in folders for path in folder.rglob("*")]
    known = [f"/{path.relative_to(ROOT)}{'/' if path.is_dir() else ''}" for path in [*tracked, *ROOT.iterdir()]]
    assert [path for path in paths if not any(one.endswith(f"/{path}") for one in known)] == []


def _section(title):
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    return page.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def test_the_architecture_page_says_where_to_change():
    rows = [line.split(" | ") for line in _section("Where do I change ...?").splitlines() if line.startswith("| ")][2:]
    assert len(rows) >= 30

    def missing(cell, folder):
        paths = re.findall(r"`([^`]+)`", cell)
        assert paths
        return [path for path in paths if not (folder / path).is_file() and not (ROOT / path).is_file()]

    assert [path for _, file, _ in rows for path in missing(file, ROOT / "exploracoder_jupyter")] == []
    assert [path for _, _, test in rows for path in missing(test, ROOT / "tests")] == []


def test_the_architecture_page_follows_existing_code():
    folders = [ROOT / "exploracoder_jupyter", ROOT / "labextension" / "src"]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in {".py", ".ts"}]
    code = "\n".join(path.read_text(encoding="utf-8") for path in files)
    defined = set(re.findall(r"\b(?:class|def|function) (\w+)", code))
    spans = re.findall(r"`([A-Za-z_]\w*(?:\.\w+)*)`", _section("The path of a cell"))
    named = {part for span in spans if not span.endswith((".py", ".ts")) for part in span.split(".")[-2:]}
    assert len(named) >= 30
    assert named - defined - {path.stem for path in files} - {path.name for path in folders[0].iterdir()} == set()


def test_the_modules_that_the_architecture_page_names_exist():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    parts = "|".join(path.name for path in (ROOT / "exploracoder_jupyter").iterdir() if (path / "__init__.py").exists())
    named = set(re.findall(rf"`((?:{parts})\.[\w.]+)`", page))
    assert "kernel_agent.forking.kernel_fork" in named

    def exists(name):
        path = (ROOT / "exploracoder_jupyter").joinpath(*name.split("."))
        file = path.parent.with_suffix(".py")
        defined = file if file.exists() else path.parent / "__init__.py"  # what a module or package defines
        return path.is_dir() or path.with_suffix(".py").exists() or path.name in defined.read_text(encoding="utf-8")

    assert [name for name in named if not exists(name)] == []


def test_the_architecture_page_shows_every_browser_folder():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    source = ROOT / "labextension" / "src"
    folders = [path.name for path in source.iterdir() if path.is_dir() and path.name != "__tests__"]
    assert [name for name in folders if f"`labextension/src/{name}/" not in page] == []


def test_the_help_of_the_magic_lists_every_command():
    listed = re.findall(r"^\s*%explora (\w+)", ExploraMagics.command.__doc__, flags=re.MULTILINE)
    assert sorted(set(listed)) == sorted(COMMANDS)


def test_the_architecture_page_shows_every_event():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    kinds = [kind.__name__ for kind in get_args(get_args(Event)[0])]
    assert [kind for kind in kinds if f"| `{kind}` |" not in page] == []
