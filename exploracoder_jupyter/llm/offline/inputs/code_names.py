"""The names that a piece of code reads, binds and calls."""

from __future__ import annotations

import ast


def root_name(node: ast.expr) -> str | None:
    """Return the name at which an expression of attributes, calls and items begins."""
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def loaded_names(node: ast.AST) -> set[str]:
    """Return the names that a piece of code reads, except those bound inside it."""
    found = {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)}
    parameter_names = {arg.arg for item in ast.walk(node) if isinstance(item, ast.arguments) for arg in item.args}
    bound = {
        name.id
        for item in ast.walk(node)
        if isinstance(item, (ast.comprehension, ast.For))
        for name in ast.walk(item.target)
        if isinstance(name, ast.Name)
    }
    return found - parameter_names - bound


def stored_names(node: ast.stmt, *, whole: bool = False) -> set[str]:
    """Return the names that a statement binds, or changes by item or attribute (`whole`: binds only)."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    found = {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    if isinstance(node, (ast.Assign, ast.AugAssign)) and not whole:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        found |= {root for target in targets if (root := root_name(target))}
    return found - loaded_names(node) if whole and isinstance(node, ast.AugAssign) else found


def called_names(node: ast.AST) -> set[str]:
    """Return the last names of what a piece of code calls or reads as an attribute."""
    found = {item.attr for item in ast.walk(node) if isinstance(item, ast.Attribute)}
    return found | {
        item.func.id for item in ast.walk(node) if isinstance(item, ast.Call) and isinstance(item.func, ast.Name)
    }
