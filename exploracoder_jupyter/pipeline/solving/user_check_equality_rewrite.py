"""Rewrites equality in checks so that it works for arrays, frames and NaN.

When a check evaluates the truth of `a == b`, `kernel_agent.value_equality.values_equal` decides it; its source runs
with the check. The copies of goldens (`user_check_goldens`) are restored before.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence, Set
from functools import cache
from importlib import resources

from exploracoder_jupyter.pipeline.solving.user_check_goldens import SNAPSHOT_NAME, names_of

_HELPER_NAME = "_explora_same"
_TYPES = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type))
_QUANTIFIERS = ("all", "any")
_MOST_SHOWN = 300


def rewrite_equality(code: str, goldens: Sequence[str] = ()) -> str:
    """Rewrite the code of a check so that equality without a truth value is decided by content.

    The copies of the `goldens` are restored before the check, which fails if they are gone. The goldens and values that
    the check itself creates are the wanted side of a comparison, whichever side they stand on.
    """
    tree = ast.parse(code)
    rewriter = _EqualityRewriter(_wanted_names(tree, goldens))
    tree = rewriter.visit(tree)
    first = [f"{name} = {SNAPSHOT_NAME}[{name!r}]" for name in goldens]
    if not rewriter.found:
        return _insert_after_futures(ast.parse(code), first) if first else code
    return _insert_after_futures(ast.fix_missing_locations(tree), [*first, _helper_code()])


def _insert_after_futures(tree: ast.Module, lines: Sequence[str]) -> str:
    """Insert these lines into the code, but after its imports from `__future__`, which must come first."""
    futures = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    rest = [node for node in tree.body if node not in futures]
    return "\n".join([*map(ast.unparse, futures), *lines, *map(ast.unparse, rest)])


@cache
def _helper_code() -> str:
    source = (
        resources.files("exploracoder_jupyter.kernel_agent").joinpath("value_equality.py").read_text(encoding="utf-8")
    )
    lines = (
        f"{_HELPER_NAME} = {{}}",
        f"exec({source!r}, {_HELPER_NAME})",
        f"{_HELPER_NAME} = {_HELPER_NAME}['values_equal']",
    )
    return "\n".join([*lines, *[""] * 6])  # keeps the helper out of the excerpt in a traceback of the check


def _wanted_names(tree: ast.Module, goldens: Sequence[str]) -> frozenset[str]:
    """Return the names with no value from the program: goldens, types, imports, and names computed from those alone."""
    imported = [
        alias for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names
    ]
    owned = {*goldens, *_TYPES, *((alias.asname or alias.name).split(".")[0] for alias in imported)}
    makers: dict[str, list[Set[str] | None]] = {}
    for name, value in _bindings(tree):
        makers.setdefault(name, []).append(None if value is None else names_of(value))
    for _ in makers:
        more = {name for name, sources in makers.items() if all(one is not None and one <= owned for one in sources)}
        if more <= owned:
            break
        owned |= more
    return frozenset(owned - {name for name in makers if name in _TYPES})


def _bindings(tree: ast.Module) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the names that the check binds, each with its source expression; `None` if that cannot be determined."""
    known: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.For | ast.comprehension):
            source = node.iter if isinstance(node, ast.For | ast.comprehension) else node.value
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                stores = [inner for inner in ast.walk(target) if isinstance(inner, ast.Name)]
                known.update(stores)
                yield from ((name.id, source) for name in stores)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg, None
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in known:
            yield node.id, None


class _EqualityRewriter(ast.NodeTransformer):
    """Inserts the helper wherever the truth of an equality is evaluated."""

    def __init__(self, owned: Set[str]) -> None:
        self.found = False
        self._owned = owned
        """Names with no value from the program."""
        self._swapped = False
        """Whether the wanted side of the latest equality is the left one."""

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """Rewrite an assertion, and show the actual value in its message."""
        text, before = ast.unparse(node.test), self.found
        self.found = False
        single = isinstance(node.test, ast.Compare) and _is_equality(node.test)
        node.test = self._truth(node.test, shown=single and node.msg is None)
        if self.found and node.msg is None:
            side = "right" if self._swapped else "left"
            shown = f""" + f': the {side} side is {{_got!r:.300}}'""" if single else ""
            node.msg = ast.parse(f"{f'{text[:_MOST_SHOWN]} is not true'!r}{shown}", mode="eval").body
        self.found = self.found or before
        return node

    def visit_If(self, node: ast.If | ast.While | ast.IfExp) -> ast.AST:
        """Rewrite the test, which is evaluated for its truth."""
        node.test = self._truth(node.test)
        return self.generic_visit(node)

    visit_While = visit_IfExp = visit_If

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """Rewrite the operand of `not`, which is evaluated for its truth."""
        if isinstance(node.op, ast.Not):
            node.operand = self._truth(node.operand)
            return node
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Rewrite the elements of a comprehension in `all` and `any`, which are evaluated for their truth."""
        inner = node.args[0] if len(node.args) == 1 else None
        takes_truths = isinstance(node.func, ast.Name) and node.func.id in _QUANTIFIERS
        if takes_truths and isinstance(inner, ast.GeneratorExp | ast.ListComp):
            inner.elt = self._truth(inner.elt)
        return self.generic_visit(node)

    def _truth(self, node: ast.expr, *, shown: bool = False) -> ast.expr:
        if isinstance(node, ast.BoolOp):
            node.values = [self._truth(value) for value in node.values]
            return node
        if not isinstance(node, ast.Compare) or not _is_equality(node):
            changed: ast.expr = self.visit(node)
            return changed
        left, right = self.visit(node.left), self.visit(node.comparators[0])
        self.found, self._swapped = True, names_of(left) <= self._owned and not names_of(right) <= self._owned
        keywords = [ast.keyword("actual", left), ast.keyword("expected", right)]
        if self._swapped:
            keywords[0].arg, keywords[1].arg = "expected", "actual"
        if shown:
            actual = keywords[self._swapped]
            actual.value = ast.NamedExpr(ast.Name("_got", ast.Store()), actual.value)
        call = ast.Call(ast.Name(_HELPER_NAME, ast.Load()), [], keywords)
        return ast.UnaryOp(ast.Not(), call) if isinstance(node.ops[0], ast.NotEq) else call


def _is_equality(node: ast.Compare) -> bool:
    """Whether it is `a == b` or `a != b`, but not `a == a`, which asks whether a value equals itself."""
    equality = len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq)
    return equality and ast.dump(node.left) != ast.dump(node.comparators[0])
