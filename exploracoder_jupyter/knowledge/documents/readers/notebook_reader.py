"""Reads notebooks as Markdown, with code cells as fenced code. Outputs are left out, and nothing is run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from exploracoder_jupyter.knowledge.documents.document_set import Page
from exploracoder_jupyter.knowledge.documents.readers import markdown_reader
from exploracoder_jupyter.text.characters import encodable
from exploracoder_jupyter.text.markup_escaping import fenced

_MAGIC = re.compile(r"^[ \t]*[%!?].*$|^.*\?[ \t]*$", re.MULTILINE)


def read(text: str) -> Page:
    """Parse a notebook. Raises ValueError if it is not a notebook."""
    try:
        content = json.loads(text)
        cells = content.get("cells") or [cell for sheet in content.get("worksheets", ()) for cell in sheet["cells"]]
        markdown = "\n\n".join(_cells(cells))
    except (AttributeError, KeyError, TypeError, RecursionError) as error:
        raise ValueError("not a notebook") from error
    page = markdown_reader.read(encodable(markdown))
    # Lines of the generated Markdown would mean nothing to a reader.
    sections = (replace(section, place=section.place.replace("line", "part")) for section in page.sections)
    return replace(page, sections=tuple(sections))


def _cells(cells: list[dict[str, object]]) -> Iterator[str]:
    for cell in cells:
        source = cell.get("source", cell.get("input", ""))
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        if cell["cell_type"] == "markdown":
            yield text
        elif cell["cell_type"] == "code" and not text.startswith("%%") and (code := _MAGIC.sub("", text).strip()):
            yield fenced(code, "python")
