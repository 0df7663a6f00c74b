"""What docstrings say: sections, parameters and runnable examples."""

from __future__ import annotations

import ast
import builtins
import doctest
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import Parameter

if TYPE_CHECKING:
    import griffe


# Parses the sections of a docstring: parameters, result, version notes and related APIs.
#
# griffe detects and reads the NumPy, Google and Sphinx styles. Version notes, deprecations and links, which it
# leaves alone, look much the same in every style and are read here.

_SECTIONED = re.compile(
    r"^(?:-{3,}|={3,}|[ \t]*:(?:param|returns?|rtype|type|keyword)\b|[A-Z]\w+(?: \w+)?:[ \t]*$)", re.MULTILINE
)
_NO_WARNINGS: griffe.PerStyleOptions = {
    "google": {"warnings": False},
    "numpy": {"warnings": False},
    "sphinx": {"warnings": False},
}
_DEPRECATED = re.compile(
    r"^(?:(?:\.\. deprecated::|DEPRECATED[:.]|Deprecated:|:deprecated:|\.\. warning::\s+DEPRECATED)[ \t]*"
    r"(?P<marked>[^\n]*(?:\n(?:[ \t]*\n)?[ \t]+\S[^\n]*)*)"
    r"|(?P<plain>(?:Deprecated since version|This \w+ (?:is|has been|was) deprecated)[^\n]*(?:\n\S[^\n]*)*))",
    re.MULTILINE,
)
_VERSION = re.compile(
    r"^(?:\.\. version(?P<how>added|changed)::[ \t]*(?P<what>[^\n]*(?:\n[ \t]+\S[^\n]*|\n[ \t]*\n[ \t]+\S[^\n]*)*)"
    r"|(?P<plain>(?:New|Added|Changed) in version [^\n]*))",
    re.MULTILINE,
)
_SEE_NUMPY = re.compile(
    r"^See Also\n-{3,}\n(.*?)(?=^\S[^\n]*\n[-=]{3,}$|^\.\. |\Z)", re.DOTALL | re.MULTILINE | re.IGNORECASE
)
_SEE_OTHER = re.compile(
    r"^([ \t]*)(?:\.\. seealso::[ \t]*|See Also:[ \t]*\n)([^\n]*(?:\n(?:\1[ \t]+[^\n]*|[ \t]*(?=\n|\Z)))*)",
    re.MULTILINE | re.IGNORECASE,
)
_COMPILED = re.compile(r"\n[ \t]*\n?[ \t]*C\+\+ signature ?:[^\n]*(?:\n[ \t]+\S[^\n]*)*")
_COMPILED_HEAD = re.compile(r"\A\s*\w+\( ?[^\n]*\) -> [^\n]+ :[ \t]*\n")
_ROLE = re.compile(r":(?:\w+:)?\w+:`(?:[^`<]*<)?[~.!]*([\w.]+)(?:\(\))?>?`|`{1,2}([\w.]+)(?:\(\))?`{1,2}")
_NAME = re.compile(r"([A-Za-z_][\w.]*)(?:\(\))?:?")
_DESCRIPTION_SEPARATOR = re.compile(r"(?<=[\w`)])\s*:\s")
_MAX_DESCRIPTION_CHARS = 400
_MAX_RETURNS_CHARS = 300
_MAX_NOTE_CHARS = 200
_MAX_DEPRECATION_CHARS = 300
_MAX_PARAMETERS = 80
_MAX_LINKS = 12


@dataclass(frozen=True, slots=True)
class DocstringInfo:
    """What a docstring documents besides its prose and examples."""

    parameters: tuple[Parameter, ...] = ()
    returns: str = ""
    """Type and meaning, as far as they are documented."""
    notes: tuple[str, ...] = ()
    see_also: tuple[str, ...] = ()
    """Names as written."""


def strip_compiled_signatures(doc: str) -> str:
    """Return the docstring without what Boost.Python adds to it: the signatures in C++, and the first one in Python."""
    text, count = _COMPILED.subn("", doc)
    return textwrap.dedent(_COMPILED_HEAD.sub("", text, count=1)).strip() if count else doc


def parse_docstring(doc: str) -> DocstringInfo:
    """Parse a cleaned docstring of any style."""
    if not doc:
        return DocstringInfo()
    sections = _sections(doc)
    returns = []
    for one in (one for part in sections if part.kind.value in ("returns", "yields") for one in part.value):
        head = ": ".join(filter(None, (one.name, _documented_type(one))))
        returns.append(". ".join(filter(None, (head, _truncate(one.description, _MAX_RETURNS_CHARS)))))
    return DocstringInfo(
        parameters=tuple(_parameters(sections))[:_MAX_PARAMETERS],
        returns="; ".join(filter(None, returns))[:_MAX_RETURNS_CHARS],
        notes=tuple(dict.fromkeys(_notes(doc))),
        see_also=tuple(dict.fromkeys(_links(doc)))[:_MAX_LINKS],
    )


def _sections(doc: str) -> list[griffe.DocstringSection]:
    if not _SECTIONED.search(doc):
        return []
    import griffe

    try:
        return griffe.Docstring(doc).parse("auto", per_style_options=_NO_WARNINGS)
    except Exception:  # a docstring may contain anything, and the parsers raise undocumented exceptions
        return []


def _parameters(sections: Sequence[griffe.DocstringSection]) -> Iterator[Parameter]:
    for section in sections:
        for one in section.value if section.kind.value in ("parameters", "other parameters") else ():
            kind = _documented_type(one)
            choices = f"{{{kind}}}" if re.match(r"['\"\d].*, ", kind) else kind
            yield Parameter(one.name, choices, str(one.value or ""), _truncate(one.description, _MAX_DESCRIPTION_CHARS))


def _documented_type(one: griffe.DocstringParameter | griffe.DocstringReturn | griffe.DocstringYield) -> str:
    kind = _truncate(str(one.annotation or "").partition("\n\n")[0], _MAX_NOTE_CHARS)
    return re.sub(r"(?:,| \(| )optional\)?$|^optional$", "", kind).rstrip(", ")


def _notes(doc: str) -> Iterator[str]:
    for found in _VERSION.finditer(doc):
        if plain := found.group("plain"):
            yield _truncate(plain, _MAX_NOTE_CHARS)
        else:
            version, _, rest = _truncate(found.group("what"), _MAX_NOTE_CHARS).partition(" ")
            word = "Added" if found.group("how") == "added" else "Changed"
            yield f"{word} in {version.rstrip('.:')}" + (f": {rest}" if rest else "")


def _links(doc: str) -> Iterator[str]:
    for found in _SEE_NUMPY.finditer(doc):
        yield from _listed_names(found.group(1))
    for found in _SEE_OTHER.finditer(doc):
        inner = textwrap.dedent(found.group(2))
        yield from _listed_names(inner)
        yield from (first or second for first, second in _ROLE.findall(inner))


def _listed_names(text: str) -> Iterator[str]:
    """Yield the names at the start of each line in a list of links.

    A line can list several names; indented lines are descriptions.
    """
    for line in text.splitlines():
        names = _DESCRIPTION_SEPARATOR.split(line, maxsplit=1)[0] if line[:1].strip() else ""
        for name in names.split(","):
            marked, plain = _ROLE.match(name.strip()), _NAME.fullmatch(name.strip())
            if marked:
                yield marked.group(1) or marked.group(2)
            elif plain:
                yield plain.group(1)


def _truncate(text: str, max_chars: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= max_chars else line[: max_chars - 3].rstrip() + "..."


def find_deprecation(doc: str) -> str | None:
    """Return the deprecation note of a docstring on one line; None if it has none."""
    found = _DEPRECATED.search(doc)
    if not found:
        return None
    note = found.group("marked") or found.group("plain") or ""
    return " ".join(note.split())[:_MAX_DEPRECATION_CHARS] or "deprecated"


# Extracts runnable examples from docstrings and READMEs.
#
# Examples come from doctests; if there are none, from fenced and indented code blocks that compile. Each example is
# made self-contained: a block that uses names from an earlier block is preceded by that block. Doctests that are
# marked as skipped or that expect an exception are left out.

_BUILTINS = frozenset(dir(builtins))
_FENCE = re.compile(r"^([ \t]*)(?:```|~~~)[ \t]*(\w*)[^\n]*\n(.*?)^\1(?:```|~~~)", re.DOTALL | re.MULTILINE)
_DIRECTIVE = re.compile(
    r"^([ \t]{0,80})(?:\.\. (?:code-block|code|sourcecode|ipython|testcode)::[ \t]*(?:python3?|py|ipython)?"
    r"|(?!\.\.)[^\n]*::)[ \t]*\n(?:\1[ \t]+:\w[^\n]*\n)*\s*\n((?:(?:\1[ \t]+[^\n]*)?\n)+)",
    re.MULTILINE,
)
_DOCTEST_OPTION = re.compile(r"(?<![ \t])[ \t]*# ?doctest:[^\n]*")
_IMAGE = re.compile(
    r"\[?!\[[^\]]{0,500}\]\([^)]{0,500}\)(?:\]\([^)]{0,500}\))?"
    r"|(?<!\S)\|\w(?:[\w -]{0,100}\w)?\|_?(?![^\s.,;:)])"
)
"""Images, and substitutions of reStructuredText; the cells of a Markdown table are neither."""
_HTML = re.compile(
    r"</?(?:a|abbr|b|blockquote|body|br|center|code|dd|details|div|dl|dt|em|figcaption|figure|font|h[1-6]|hr|html|i|iframe"
    r"|img|input|kbd|li|ol|p|picture|pre|s|samp|small|source|span|strong|sub|summary|sup|svg|table|tbody|td|th|thead|tr"
    r"|u|ul|video)(?:[ \t][^<>\n]*)?/?>"
    r"|<(?:https?|mailto):[^<>\s]*>",
    re.IGNORECASE,
)
_LINK = re.compile(r"\[([^\]]{1,500})\]\([^)]{0,500}\)")
"""Bounded, like `_IMAGE`: otherwise a text of unclosed brackets would take quadratic time."""
_PYTHON = frozenset(("", "python", "py", "python3", "pycon", "ipython"))
MAX_EXAMPLES = 6


@dataclass(frozen=True, slots=True)
class _Block:
    code: str
    defines: frozenset[str]
    needs: frozenset[str]
    calls: bool


def extract_examples(doc: str) -> tuple[str, ...]:
    """Return the runnable examples of a docstring in order; empty if it has none."""
    blocks = [block for code in _doctest_blocks(doc) or _code_blocks(doc) if (block := _parse_block(code))]
    complete = [_with_dependencies(blocks, at) for at in range(len(blocks))]
    return tuple(dict.fromkeys("\n".join(block.code for block in one) for one in complete if any(b.calls for b in one)))


def strip_markup(readme: str) -> str:
    """Strip images, badges, HTML and link targets from README text and collapse blank lines.

    Other words in angle brackets stay: they are the variables of a grammar.
    """
    text = re.sub(r"^\.\. (?:image|figure|raw|_[^\n]*)::?[^\n]*(?:\n[ \t]+\S[^\n]*)*", "", readme, flags=re.MULTILINE)
    closed, mark, rest = text.rpartition("-->")  # a comment that is not closed stays
    text = _HTML.sub("", re.sub(r"<!--.*?-->", "", closed + mark, flags=re.DOTALL) + rest)
    text = _LINK.sub(r"\1", _IMAGE.sub("", text))
    return re.sub(r"\n\s*\n+", "\n\n", text).strip()


def _doctest_blocks(doc: str) -> list[str]:
    if ">>>" not in doc:
        return []
    try:
        pieces = doctest.DocTestParser().parse(doc)
    except ValueError:
        return []
    return list(_join_doctests(pieces))


def _join_doctests(pieces: Iterable[str | doctest.Example]) -> Iterator[str]:
    """Join neighboring doctests into blocks; prose between two of them ends a block."""
    block = ""
    for piece in pieces:
        if isinstance(piece, doctest.Example):
            runs = piece.exc_msg is None and not piece.options.get(doctest.SKIP)
            block += _DOCTEST_OPTION.sub("", piece.source) if runs else ""
        elif piece.strip():
            yield block
            block = ""
    yield block


def _code_blocks(doc: str) -> list[str]:
    fenced = [(at.start(), at.group(3)) for at in _FENCE.finditer(doc) if at.group(2).lower() in _PYTHON]
    marked = [(at.start(), at.group(2)) for at in _DIRECTIVE.finditer(doc)]
    found = [textwrap.dedent(code) for _, code in sorted(fenced + marked)]
    return [plain for code in found for plain in (_doctest_blocks(code) if ">>>" in code else [code])]


def _parse_block(code: str) -> _Block | None:
    tree = parse_python(code)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    stored = {node.id for node in names if not isinstance(node.ctx, ast.Load)} | set(_bound_names(tree))
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    if not tree.body:
        return None
    calls = any(isinstance(node, ast.Call) for node in ast.walk(tree))
    return _Block(code.strip("\n"), frozenset(stored), frozenset(read - stored - _BUILTINS), calls)


def _bound_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.arg):
            yield node.arg


def _with_dependencies(blocks: list[_Block], at: int) -> list[_Block]:
    wanted, chosen = set(blocks[at].needs), [blocks[at]]
    for earlier in reversed(blocks[:at]):
        if not wanted:
            break
        if wanted & earlier.defines:
            wanted = (wanted - earlier.defines) | earlier.needs
            chosen.append(earlier)
    return chosen[::-1]


# Merges what the code, a written signature and the docstring say about an API's parameters and result.

ParameterRow = Sequence[tuple[str, str, str]]
"""Name with its stars, type and default of each parameter, as the API walker prints them."""


def merge_parameters(rows: ParameterRow, signature: str, documented: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Return the parameters in call order, each with its description from the docstring.

    `rows` come from the code; if there are none, the text of `signature` is parsed instead. Parameters that only the
    docstring mentions come last. They are included only if the call accepts `**kwargs` or its parameters are unknown.
    """
    called = [Parameter(*row) for row in rows] or parse_signature(signature)
    about = {one.name.lstrip("*"): one for one in documented}
    merged = []
    for one in called:
        more = about.pop(one.name.lstrip("*"), None)
        merged.append(replace(one, type=more.type or one.type, about=more.about) if more else one)
    open_ended = not called or any(one.name.startswith("**") for one in called)
    return (*merged, *(about.values() if open_ended else ()))


def merge_returns(type_: str, documented: str) -> str:
    """Combine the result's type from the code with its description in the docstring.

    If the docstring starts with the type, it is returned as it is: its own type is often the better one.
    """
    if not type_ or not documented or documented.startswith(type_):
        return documented or type_
    return f"{type_}. {documented}"


def parse_signature(signature: str) -> list[Parameter]:
    """Parse the parameters of a signature given as text: as Python if possible, otherwise by splitting at commas."""
    inner = _inside_parentheses(signature)
    for text in (inner, re.sub(r"[\[\]]", "", inner)):
        for node in parse_python(f"def f({text}): ...").body:
            return list(_from_arguments(node.args)) if isinstance(node, ast.FunctionDef) else []
    parts = (part.strip().partition("=") for part in re.split(r",(?![^(\[{]*[)\]}])", re.sub(r"[\[\]]", "", inner)))
    return [
        Parameter(name.split()[-1], "", default.strip()) for name, _, default in parts if re.search(r"\w\s*$", name)
    ]


def _inside_parentheses(signature: str) -> str:
    depth = 0
    for at, sign in enumerate(signature):
        depth += (sign in "([{") - (sign in ")]}")
        if not depth:
            return signature[1:at]
    return signature[1:]


def _from_arguments(args: ast.arguments) -> Iterator[Parameter]:
    positional = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [*[None] * (len(positional) - len(args.defaults)), *args.defaults]
    yield from (_parameter(argument, "", default) for argument, default in zip(positional, defaults, strict=True))
    if args.vararg:
        yield _parameter(args.vararg, "*", None)
    for argument, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield _parameter(argument, "", default)
    if args.kwarg:
        yield _parameter(args.kwarg, "**", None)


def _parameter(argument: ast.arg, stars: str, default: ast.expr | None) -> Parameter:
    kind = ast.unparse(argument.annotation) if argument.annotation else ""
    return Parameter(stars + argument.arg, kind, ast.unparse(default) if default else "")
