"""What is known of a source file: its definitions and imports, independent of the language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Language = Literal["python", "java"]
DefinitionKind = Literal["class", "function", "method", "property", "attribute"]

LANGUAGES: dict[str, Language] = {".py": "python", ".java": "java"}
"""Language by the suffix of a file."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A class, function, method, property or attribute."""

    kind: DefinitionKind
    name: str
    owner: str
    """Name of the class that it belongs to, with those around it: `Outer.Inner`; empty at the top level."""
    file: str
    """Path relative to the repository, with `/`."""
    line: int
    """First line, counted from 1, with decorators and annotations."""
    end: int
    """Last line."""
    signature: str
    """On one line: `def total(self) -> Decimal`, `class Cart(Basket)`; of an attribute its declaration."""
    notes: tuple[str, ...] = ()
    """`static`, `abstract`, `class method`, `private`, ..."""
    bases: tuple[str, ...] = ()
    """Base classes and interfaces as written, without type arguments."""
    summary: str = ""
    """First line of its documentation."""

    @property
    def qualified(self) -> str:
        """Name with that of its class: `Cart.total`."""
        return f"{self.owner}.{self.name}" if self.owner else self.name

    @property
    def place(self) -> str:
        """File and line: `src/shop/cart.py:12`."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Import:
    """One name that an import statement binds."""

    name: str
    """The name in the file."""
    module: str
    """Absolute name of the module, or of the Java package."""
    attribute: str
    """What is imported from the module; empty if it is the module itself."""
    statement: str
    """The statement that binds this name alone."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of the repository."""

    path: str
    module: str
    """The name under which it is imported: a Python module or a Java package."""
    language: Language
    definitions: tuple[Definition, ...]
    """In the order of the file; members follow their class."""
    imports: tuple[Import, ...]
