"""Extracts runnable examples from docstrings and READMEs.

Examples come from doctests; if there are none, from fenced and indented code blocks that compile. Each example is made
self-contained: a block that uses names from an earlier block is preceded by that block. Doctests that are marked as
skipped or that expect an exception are left out.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from exploracoder_jupyter.core.python_code import parse_python

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
