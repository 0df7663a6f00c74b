"""Rewrites a Python check so that it asserts: bare conditions become assertions, and its tests are called.

Only the text of the check is analyzed, so that nothing of the solution is taken for a test. Tests are top-level `def
test...()`, the test methods of `class Test...`, and `unittest.TestCase`s. Tests that would silently not run
(asynchronous tests, fixtures, parametrized tests) are rejected, and so is a check that can never fail.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from exploracoder_jupyter.core.errors import UsageError

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
        return f"assert {text}"  # `user_check_equality_rewrite` reports the actual value
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
