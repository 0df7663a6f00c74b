"""What a prompt says of a library as a whole: its own text, without what no program needs."""

import pytest

from exploracoder_jupyter.core.types import LibraryInfo
from exploracoder_jupyter.knowledge.extraction.library_reader import build_overview
from exploracoder_jupyter.knowledge.extraction.library_surface import Surface

MARKDOWN = """# Shop

Goods are bought.

## License

MIT, see the file.

### Contributors

Ann

## Use

Call `buy`.

## How to cite

```bibtex
@article{shop,
  title = {Shop},
}
```
"""
REST = """Shop
====

Goods are bought.

Governance
----------

A council decides.

Use
---

Call ``buy``.

@software{shop,
  title = {Shop},
}
"""


def overview(text):
    return build_overview([Surface(LibraryInfo("shop", "shop", "1.2"), (), {}, text, ())], ()).text


@pytest.mark.parametrize("readme", [MARKDOWN, REST])
def test_formalities_of_a_readme_are_left_out(readme):
    text = overview(readme)
    assert "shop 1.2" in text and "Goods are bought." in text and "buy" in text.partition("Use")[2]
    assert not [word for word in ("MIT", "Ann", "council", "{", "cite", "Governance") if word in text]


def test_a_library_about_licences_keeps_its_text():
    assert "Reads them." in overview("# License reader\n\nReads them.")
