"""Mutants: the package's own source with changes, as plain Python, or with as little of it compiled anew as can be."""

import ast
import importlib
import inspect
import types
from typing import TypeGuard

import numba

from tests.helpers.sweeping import plain_steps, undecorated

REJECT = 1e-9  # a right program gets this far once in a billion tries


def mutate(module: str, *changes: tuple[str, str], compiled: bool = False) -> types.SimpleNamespace:
    """The module's source with every occurrence of each text replaced by another, as plain Python or compiled."""
    source = inspect.getsource(importlib.import_module(f"topicloom.{module}"))
    for old, new in changes:
        assert old in source, f"the mutant's text is gone from {module}: {old!r}"
        source = source.replace(old, new)
    decorator = "@numba.njit(error_model='numpy')\n" if compiled else ""
    source = undecorated(source, decorator)
    names: dict[str, object] = {"__name__": f"mutant of {module}", "numba": numba}
    exec(compile(source, f"<mutant of {module}>", "exec"), names)
    if not compiled:
        names.update(plain_steps(names))
    return types.SimpleNamespace(**names)


def compiled_mutant(module: str, *changes: tuple[str, str]) -> types.SimpleNamespace:
    """The module's source with every occurrence of each text replaced by another.

    Kernels that are changed, and those that use them, are compiled; all others are the package's own, which are
    compiled already. Without changes all are compiled, so that the right source goes through the same door.
    """
    package = importlib.import_module(f"topicloom.{module}")
    source = right = inspect.getsource(package)
    for old, new in changes:
        assert old in source, f"the mutant's text is gone from {module}: {old!r}"
        source = source.replace(old, new)
    names: dict[str, object] = {"__name__": f"mutant of {module}"}
    exec(compile(undecorated(source), f"<mutant of {module}>", "exec"), names)
    unchanged = {ast.dump(node) for node in ast.parse(right).body}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and ast.dump(node) in unchanged:  # what kernels are compiled for already
            names[node.name] = getattr(package, node.name)
    functions, affected = _functions(source), _affected(right, source)
    for name in functions:
        own = names[name]
        names[name] = numba.njit(error_model="numpy")(own) if name in affected else getattr(package, name)
    return types.SimpleNamespace(**names)


def _functions(source: str) -> dict[str, ast.FunctionDef]:
    """Those that are compiled."""
    return {node.name: node for node in ast.parse(source).body if _is_compiled(node)}


def _is_compiled(node: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and any(
        isinstance(how, ast.Name) and how.id in ("kernel", "reducing_kernel", "bare_kernel", "step")
        for how in node.decorator_list
    )


def _affected(right: str, wrong: str) -> set[str]:
    """Functions that are not the same in both sources, or use one that is not."""
    before, after = _functions(right), _functions(wrong)
    others = [
        [ast.dump(node) for node in ast.parse(s).body if not isinstance(node, ast.FunctionDef)] for s in (right, wrong)
    ]
    if right == wrong or others[0] != others[1]:  # a constant may be used anywhere
        return set(after)
    affected = {name for name in after if name not in before or ast.dump(before[name]) != ast.dump(after[name])}
    while True:
        users = {
            name for name, node in after.items() if affected & {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        }
        if users <= affected:
            return affected
        affected |= users
