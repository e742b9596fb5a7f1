"""Docstrings of public names: they have the sections of numpydoc, name all parameters, and their examples run."""

import ast
import doctest
import functools
import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import topicloom
from tests.project.test_docs import in_reference


@functools.cache
def reference() -> dict[str, Any]:
    """All functions and classes of the API reference, by name."""
    found = {}
    for name in sorted(in_reference()):
        module, _, own = name.rpartition(".")
        value = getattr(importlib.import_module(module), own)
        if inspect.isclass(value) or inspect.isfunction(value):
            found[name] = value
    return found


def sections(value: Any) -> dict[str, str]:
    """What a docstring has under each of its underlined headings."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", (inspect.getdoc(value) or "") + "\n", flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def documented(section: str) -> list[str]:
    """Names of a section's entries, such as ``lower, upper : array``."""
    entries = re.findall(r"^(\S.*)$", section, flags=re.MULTILINE)
    return [name.strip().lstrip("*") for entry in entries for name in entry.split(" : ")[0].split(",")]


def faults(value: Any) -> Iterator[str]:
    """What a docstring lacks."""
    found = sections(value)
    if inspect.isclass(value) and issubclass(value, BaseException):
        return
    parameters = list(inspect.signature(value).parameters)
    if inspect.isclass(value) and "Parameters" not in found:  # a result, whose fields are documented
        if not {*parameters} <= {*documented(found.get("Attributes", ""))}:
            yield f"Attributes are {documented(found.get('Attributes', ''))}, fields {parameters}"
        return
    answers = not inspect.isclass(value) and inspect.signature(value).return_annotation is not None
    wanted = ["Parameters"] * bool(parameters) + ["Returns"] * answers + ["Examples"]
    yield from (f"no section {name}" for name in wanted if name not in found)
    if parameters and "Parameters" in found and sorted(documented(found["Parameters"])) != sorted(parameters):
        yield f"Parameters are {documented(found['Parameters'])}, those of the signature {parameters}"
    if "Examples" in found and ">>>" not in found["Examples"]:
        yield "Examples has no code"


def test_every_public_name_has_all_sections() -> None:
    wrong = {name: [*faults(value)] for name, value in reference().items()}
    assert {name: what for name, what in wrong.items() if what} == {}


def documented_defaults(value: Any) -> Iterator[tuple[str, str]]:
    """Parameters and their defaults as the docstring has them; several may share an entry."""
    for entry in re.findall(r"^(\S.*)$", sections(value).get("Parameters", ""), flags=re.MULTILINE):
        names, _, kind = entry.partition(" : ")
        if found := re.search(r"default[= ](.+)$", kind):
            own = [name.strip() for name in names.split(",")]
            given = [found[1]] if len(own) == 1 else re.split(r", | and ", found[1])
            yield from zip(own, given * len(own) if len(given) == 1 else given, strict=True)


def literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def test_documented_defaults_are_those_of_the_code() -> None:
    looked_at, wrong = 0, []
    for name, value in reference().items():
        if inspect.isclass(value) and issubclass(value, BaseException):
            continue
        parameters = inspect.signature(value).parameters
        for own, text in documented_defaults(value):
            default = parameters[own].default
            looked_at += 1
            said = (literal(text), getattr(literal(text), "__name__", text))
            if default not in said and getattr(default, "__name__", None) != text and own != "token_pattern":
                wrong.append((name, own, text, default))
    assert wrong == []
    assert looked_at > 400


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("Sum.\n\nParameters\n----------\na : int\n\nReturns\n-------\nint\n\nExamples\n--------\n>>> 1\n1", []),
        ("Sum.", ["no section Parameters", "no section Returns", "no section Examples"]),
        ("Sum.\n\nParameters\n----------\nb : int\n\nReturns\n-------\nint\n\nExamples\n--------\nNone.", [
            "Parameters are ['b'], those of the signature ['a']", "Examples has no code"]),
    ],
)  # fmt: skip
def test_faults_are_found(docstring: str, expected: list[str]) -> None:
    def add(a: int) -> int:
        return a

    add.__doc__ = docstring
    assert [*faults(add)] == expected


PACKAGE = Path(topicloom.__file__).parent
FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("file", [path.relative_to(PACKAGE).as_posix() for path in FILES])
def test_examples_run(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All examples of a file, with warnings as errors; figures are closed after each docstring."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(tmp_path)
    if file.startswith("explore/plot"):
        pytest.importorskip("matplotlib", reason="plots are drawn with matplotlib")
    name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    module = importlib.import_module(f"topicloom.{name}")
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for test in doctest.DocTestFinder(exclude_empty=True).find(module):
            runner.run(test, out=said.append)
            if "matplotlib.pyplot" in sys.modules:
                sys.modules["matplotlib.pyplot"].close("all")
    assert runner.tries > 0
    assert runner.failures == 0, "".join(said)
