"""Docstrings of public names: they have the sections of numpydoc, name all parameters, and their examples run."""

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

# Names that still lack sections, a folder or a file at a time. Remove entries; add none.
MISSING_SECTIONS = (
    "corpus/",
    "datasets/",
    "engine/",
    "models.py",
    "mallet.py",
    "compound/",
    "hmm/",
    "labeled/",
    "lda/",
    "medlda/",
)


def source(value: Any) -> str:
    """The file of a name, relative to the package."""
    return Path(inspect.getsourcefile(value) or "").as_posix().rpartition("/topicloom/")[2]


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
    wanted = ["Parameters"] * bool(parameters) + ["Returns"] * (not inspect.isclass(value)) + ["Examples"]
    yield from (f"no section {name}" for name in wanted if name not in found)
    if parameters and "Parameters" in found and sorted(documented(found["Parameters"])) != sorted(parameters):
        yield f"Parameters are {documented(found['Parameters'])}, those of the signature {parameters}"
    if "Examples" in found and ">>>" not in found["Examples"]:
        yield "Examples has no code"


def test_every_public_name_has_all_sections() -> None:
    wrong = {name: [*faults(value)] for name, value in reference().items()}
    wrong = {name: what for name, what in wrong.items() if what}
    unknown = {name: what for name, what in wrong.items() if not source(reference()[name]).startswith(MISSING_SECTIONS)}
    assert unknown == {}
    lacking = {source(reference()[name]) for name in wrong}
    done = [entry for entry in MISSING_SECTIONS if not any(file.startswith(entry) for file in lacking)]
    assert done == [], "these lack nothing any more; take them off the list"


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
