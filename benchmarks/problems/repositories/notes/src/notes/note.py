"""A note."""

import re
from dataclasses import dataclass, field

from notes.slugs import slugify

_LINK = re.compile(r"\[\[([^\[\]]+)\]\]")


@dataclass
class Note:
    """A text with a title; `[[Title]]` in it is a link to another note."""

    title: str
    text: str = ""
    tags: set[str] = field(default_factory=set)

    @property
    def slug(self) -> str:
        """The title as a name."""
        return slugify(self.title)

    def links(self) -> list[str]:
        """Return the slugs of the linked notes, in order, each once."""
        return list(dict.fromkeys(slugify(title) for title in _LINK.findall(self.text)))
