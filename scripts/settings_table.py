"""Write the table of settings in docs/configuration.md from the settings themselves; a test fails when it is stale."""

from itertools import groupby
from pathlib import Path

from exploracoder_jupyter.core.configuration.options import OPTIONS
from exploracoder_jupyter.core.configuration.settings import SettingField, setting_fields

PAGE = Path(__file__).parent.parent / "docs" / "configuration.md"
BEGIN, END = "<!-- settings: begin (scripts/settings_table.py writes this part) -->\n", "<!-- settings: end -->"


def table() -> str:
    """One Markdown table for each section of the settings."""
    sections = groupby(setting_fields(), lambda row: row.section)
    return "\n".join(f"{_head(section)}{''.join(map(_row, rows))}" for section, rows in sections)


def page(text: str) -> str:
    """The page with its table replaced by the current one."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


def _head(section: str) -> str:
    return f"### `[{section}]`\n\n| setting | default | flag | meaning |\n| --- | --- | --- | --- |\n"


def _row(row: SettingField) -> str:
    default = row.default
    shown = "" if default in (None, "", {}) else f"`{str(default).lower() if isinstance(default, bool) else default}`"
    flags = [option.flag for option in OPTIONS if option.places and (option.section, option.field) == row[:2]]
    return f"| `{row.name}` | {shown} | {f'`{flags[0]}`' if flags else ''} | {row.setting.meaning} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
