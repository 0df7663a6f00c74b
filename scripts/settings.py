"""Write the table of settings in docs/configuration.md from the settings themselves; a test fails when it is stale."""

import re
from pathlib import Path

from pydantic import BaseModel

from exploracoder_jupyter.core.command_options import OPTIONS
from exploracoder_jupyter.core.settings import Settings

PAGE = Path(__file__).parent.parent / "docs" / "configuration.md"
BEGIN, END = "<!-- settings: begin (scripts/settings.py writes this part) -->\n", "<!-- settings: end -->"


def table() -> str:
    """One Markdown table for each section of the settings."""
    return "\n".join(_section(name, value) for name, value in Settings())


def page(text: str) -> str:
    """The page with its table replaced by the current one."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


def _section(name: str, section: BaseModel) -> str:
    head = f"### `[{name}]`\n\n| setting | default | flag | meaning |\n| --- | --- | --- | --- |\n"
    return head + "".join(_row(name, field, section) for field in type(section).model_fields)


def _row(section: str, field: str, values: BaseModel) -> str:
    default = getattr(values, field)
    shown = "" if default is None else f"`{str(default).lower() if isinstance(default, bool) else default}`"
    option = next((option for option in OPTIONS if (option.section, option.field) == (section, field)), None)
    flag = f"`{option.flag}`" if option else ""
    meaning = type(values).model_fields[field].description or (_without_default(option.help) if option else "")
    return f"| `{field}` | {shown} | {flag} | {meaning} |\n"


def _without_default(help_: str) -> str:
    return re.sub(r" \([^)]*\)$", "", help_)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
