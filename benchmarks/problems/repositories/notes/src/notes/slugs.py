"""Names of files and addresses."""

import re
import unicodedata


def slugify(title: str) -> str:
    """Return a title as a name: `Über  Bäume!` becomes `uber-baume`."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
