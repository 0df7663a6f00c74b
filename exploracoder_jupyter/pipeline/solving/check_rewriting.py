"""Rewrites a check so that it asserts, so that equality works for arrays, frames and NaN, and for the variables it
compares with.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache
from importlib import resources

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import Task

# Finds the user's variables that a check compares the result with (goldens), and copies them.
#
# They are copied before the program runs and restored before the check does, so that a program cannot pass by
# changing one or assigning to it.

SNAPSHOT_NAME = "_explora_kept"
"""Name of the variable of the copies, by name."""
_SNAPSHOT = """
def {kept}(names):
    import copy, types
    copies, known, failed = {{}}, {{}}, []
    for name in names:
        if name not in globals():
            continue
        value = copies[name] = globals()[name]
        if isinstance(value, types.ModuleType):
            continue
        try:
            copies[name] = copy.deepcopy(value, known)
        except Exception as error:
            failed.append(f"{{name}} ({{type(error).__name__}})")
    globals()["{kept}"] = copies
    if failed:
        raise TypeError("no copy could be made of " + ", ".join(failed))
{kept}({names!r})
"""


def find_goldens(code: str, task: Task) -> tuple[str, ...]:
    """Return the user's variables that the check compares results with, except those that the task itself mentions."""
    users = {name for name in task.uses if not re.search(rf"\b{re.escape(name)}\b", task.text)}
    users.discard(task.solution_name or "")
    found: set[str] = set()
    for given, wanted in _comparisons(ast.parse(code)):
        right, left = names_of(wanted) & users, names_of(given) & users
        if right and names_of(given) - right:
            found |= right
        elif left and not right and names_of(wanted):
            found |= left
    return tuple(sorted(found))


def snapshot_code(names: tuple[str, ...]) -> str:
    """Return code that copies these variables; it raises TypeError after copying the others if one cannot be copied."""
    return _SNAPSHOT.format(kept=SNAPSHOT_NAME, names=names)


def _comparisons(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield both sides of every comparison: of operators, and of calls that take both."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield node.left, node.comparators[0]
        elif isinstance(node, ast.Call):
            owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
            sides = [side for side in (*owner, *node.args) if names_of(side)]
            if len(sides) > 1:
                yield sides[-2], sides[-1]


def names_of(node: ast.AST) -> set[str]:
    """Return the names that occur in the code."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


# Rewrites equality in checks so that it works for arrays, frames and NaN.
#
# When a check evaluates the truth of `a == b`, `kernel_agent.value_equality.values_equal` decides it; its source
# runs with the check. The copies of goldens (`check_rewriting`) are restored before.

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


# Rewrites a Python check so that it asserts: bare conditions become assertions, and its tests are called.
#
# Only the text of the check is analyzed, so that nothing of the solution is taken for a test. Tests are top-level
# `def test...()`, the test methods of `class Test...`, and `unittest.TestCase`s. Tests that would silently not run
# (asynchronous tests, fixtures, parametrized tests) are rejected, and so is a check that can never fail.

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_CONDITIONS = (ast.Compare, ast.BoolOp, ast.UnaryOp)
"""Expressions that are written for their truth value."""
_NO_CONDITIONS = (ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.JoinedStr, ast.Lambda)
"""Expressions whose truth value is unrelated to the solution."""
_FAILING = ("raises", "fail")
_SETUP = ("setup_method", "setup_class", "setup_function", "setup_module")

_RUN_TEST_CASE = """
import io as _io, unittest as _unittest
_report = _io.StringIO()
_result = _unittest.TextTestRunner(stream=_report).run(_unittest.defaultTestLoader.loadTestsFromTestCase({name}))
assert _result.wasSuccessful() and _result.testsRun > len(_result.skipped), _report.getvalue()
"""


def no_assertion_error() -> UsageError:
    """Return the error for a check that can never fail."""
    return UsageError("The check asserts nothing.", remedy='Write for example --check "assert result == 3".')


def rewrite_assertions(tree: ast.Module, text: str) -> str:
    """Return the code of the check, with its tests called and its bare conditions asserted.

    Raises:
        UsageError: it asserts nothing, or contains tests of an unsupported kind.
    """
    body = [node for node in tree.body if not _starts_test_runner(node)]
    tests = [node for node in body if isinstance(node, _DEFINITIONS) and _is_test(node)]
    _reject_unsupported(body, tests)
    plain = [node for node in body if not isinstance(node, _DEFINITIONS)]
    helpers = {node.name: node for node in body if isinstance(node, _DEFINITIONS)}
    sure = _can_fail([*plain, *tests], helpers)
    expressions = [node for node in body if isinstance(node, ast.Expr)]
    conditions = [node for node in expressions if isinstance(node.value, _CONDITIONS)]
    if not sure and expressions and expressions[-1] is body[-1] and not isinstance(body[-1].value, _NO_CONDITIONS):
        conditions = [*(node for node in conditions if node is not body[-1]), expressions[-1]]
    if not sure and not conditions:
        raise no_assertion_error()
    rewritten = conditions or len(body) < len(tree.body)
    code = "\n".join(_assertion(node) if node in conditions else ast.unparse(node) for node in body)
    lines = [code if rewritten else text]
    for test in tests:
        if not isinstance(test, ast.ClassDef):
            lines.append(f"{test.name}()")
        elif _is_test_case(test):
            lines.append(_RUN_TEST_CASE.format(name=test.name))
        else:
            lines += [f"{test.name}().{method.name}()" for method in _test_methods(test)]
    return "\n".join(lines)


def can_fail(tree: ast.Module) -> bool:
    """Whether the code contains anything that is meant to fail."""
    return _can_fail(tree.body, {})


def _can_fail(roots: Sequence[ast.AST], helpers: Mapping[str, ast.AST]) -> bool:
    """Whether anything in the roots, or in a helper that they name, is meant to fail."""
    waiting, seen = list(roots), set[str]()
    while waiting:
        for node in ast.walk(waiting.pop()):
            if isinstance(node, ast.Assert) and not isinstance(node.test, _NO_CONDITIONS):
                return True
            name = _last_name(node.func) if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Raise) or name.startswith("assert") or name in _FAILING:
                return True
            if isinstance(node, ast.Name) and node.id in helpers and node.id not in seen:
                seen.add(node.id)
                waiting.append(helpers[node.id])
    return False


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _assertion(node: ast.stmt) -> str:
    """Turn the expression into an assertion whose message shows the actual value; of a comparison, its left side."""
    assert isinstance(node, ast.Expr)
    value, text = node.value, ast.unparse(node.value)
    if isinstance(value, ast.Compare) and len(value.ops) == 1 and isinstance(value.ops[0], ast.Eq | ast.NotEq):
        return f"assert {text}"  # `check_rewriting` reports the actual value
    if isinstance(value, ast.Compare) and len(value.ops) == 1:
        left = ast.unparse(value.left)
        value.left = ast.Name("_got", ast.Load())
        return f"_got = ({left})\nassert {ast.unparse(value)}, {text!r} + f' is not true: the left side is {{_got!r}}'"
    return f"_got = ({text})\nassert _got, {text!r} + f' is not true: it gave {{_got!r}}'"


def _starts_test_runner(node: ast.stmt) -> bool:
    """Whether it is `unittest.main()`, perhaps under `if __name__ == "__main__"`: it would end the kernel."""
    if isinstance(node, ast.If):
        return all(_starts_test_runner(item) for item in node.body)
    return isinstance(node, ast.Expr) and ast.unparse(node.value).startswith(("unittest.main(", "pytest.main("))


def _is_test(node: _Definition) -> bool:
    if isinstance(node, ast.ClassDef):
        return node.name.startswith("Test") or _is_test_case(node)
    return node.name.startswith("test")


def _is_test_case(node: ast.ClassDef) -> bool:
    return any(_last_name(base).endswith("TestCase") for base in node.bases)


def _test_methods(node: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    functions = (item for item in node.body if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return [item for item in functions if item.name.startswith("test")]


def _reject_unsupported(body: Sequence[ast.stmt], tests: Sequence[_Definition]) -> None:
    """Raise UsageError for tests that only a test runner could run."""
    for test in tests:
        own = int(isinstance(test, ast.ClassDef))
        for function in _test_methods(test) if isinstance(test, ast.ClassDef) else [test]:
            if isinstance(function, ast.AsyncFunctionDef):
                raise _unsupported_error(f"`{function.name}` is asynchronous")
            args = function.args
            required = len(args.posonlyargs) + len(args.args) - len(args.defaults) + args.kw_defaults.count(None)
            if required > own:
                raise _unsupported_error(f"`{function.name}` takes parameters")
    for node in (inner for stmt in body for inner in ast.walk(stmt)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            words = {_last_name(item) for item in node.decorator_list}
            if words & {"fixture", "parametrize"} or node.name in _SETUP:
                raise _unsupported_error(f"`{node.name}` is a fixture or parametrized")


def _unsupported_error(what: str) -> UsageError:
    return UsageError(
        f"The check has tests that are not run here: {what}.",
        remedy="Write plain test functions without parameters, or assertions.",
    )
