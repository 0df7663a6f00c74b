"""The documentation keeps up: its tables are current, its links lead somewhere, its commands can be typed."""

import importlib.util
import re
import shlex
from pathlib import Path
from typing import get_args

import pytest

from exploracoder_jupyter.cli.argument_parser import build_parser
from exploracoder_jupyter.core.events import Event

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


def test_the_table_of_settings_is_current():
    spec = importlib.util.spec_from_file_location("settings_page", ROOT / "scripts" / "settings.py")
    settings = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(settings)
    text = settings.PAGE.read_text(encoding="utf-8")
    assert settings.page(text) == text, "run `python scripts/settings.py`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?://|#|mailto:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists() and not MADE.search(target)] == []


def test_the_pages_have_commands():
    assert len(_commands()) >= 10


@pytest.mark.parametrize("command", _commands())
def test_the_commands_of_the_pages_can_be_typed(command):
    build_parser().parse_args(shlex.split(command, comments=True))


@pytest.mark.parametrize("command", ["run", "index", "search", "snippets", "doctor", "export"])
def test_the_readme_names_every_command(command):
    assert any(f"jupyter explora {command}" in block for block in _blocks(ROOT / "README.md", "text"))


def test_the_architecture_page_shows_every_part_of_the_package():
    tree = _blocks(ROOT / "docs" / "architecture.md", "text")[1]
    parts = [
        path
        for path in (ROOT / "exploracoder_jupyter").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    ]
    missing = [path.name for path in parts if f"  {path.name}{'/' if path.is_dir() else ''} " not in tree]
    assert missing == []


def test_the_architecture_page_shows_every_event():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    kinds = [kind.__name__ for kind in get_args(get_args(Event)[0])]
    assert [kind for kind in kinds if f"| `{kind}` |" not in page] == []
