"""What is where: floors that import downwards, tests that mirror the package, files that can be read at once."""

import ast
import re
import traceback
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.project.test_docs import DOCS, ROOT, blocks
from topicloom import LDA
from topicloom.datasets import bars
from topicloom.lda.gibbs import auto, dense

FAMILIES = {"labeled", "medlda", "compound", "hdp", "hmm"}


def floors() -> dict[str, int]:
    """The page's list of packages, each with the number of its floor, from the ground up."""
    page = DOCS / "developer" / "architecture.md"
    (block,) = (b for b in blocks(page) if b.language == "text" and b.code.startswith("cli"))
    rows = [re.split(r"\s{2,}", line)[0].split(", ") for line in reversed(block.code.splitlines())]
    return {name: number for number, names in enumerate(rows) for name in names}


def imported(source: Path) -> Iterator[str]:
    """Packages of ours that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        modules = [name.name for name in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            own = node.module == "topicloom"
            modules = [f"topicloom.{name.name}" for name in node.names] if own else [node.module]
        yield from (module.split(".")[1] for module in modules if module.startswith("topicloom."))


def test_no_package_imports_one_above_it_and_no_family_another() -> None:
    floor, package, checked = floors(), ROOT / "src" / "topicloom", 0
    for source in sorted(package.rglob("*.py")):
        own = source.relative_to(package).parts[0].removesuffix(".py")
        if own == "__init__":
            continue
        for other in set(imported(source)) & floor.keys():
            checked += 1
            assert floor[other] <= floor[own], f"{source} imports {other}, which is above {own}"
            assert own not in FAMILIES or other not in FAMILIES - {own}, f"{source} imports another family, {other}"
    assert checked > 400
    assert {path.name.removesuffix(".py") for path in package.iterdir() if "__" not in path.name} - {"py.typed"} == set(
        floor
    )


# -- tests and the size of files -----------------------------------------------------------------------------------

# What concerns no one package.
OTHER_FOLDERS = {
    "contract",  # over every model or sampler
    "determinism",  # all results in many environments
    "fixtures",  # directories that earlier versions wrote
    "fuzz",  # damaged files
    "golden",  # digests of short fits
    "helpers",  # what tests of several packages use
    "oracles",  # independent versions to compare with
    "project",  # docs, structure, benchmarks, reproductions, examples
    "torture",  # kills
}
MOST_LINES = 450


def test_tests_mirror_the_package() -> None:
    package, tests = ROOT / "src" / "topicloom", ROOT / "tests"
    packages = {path.parent.name for path in package.glob("*/__init__.py")}
    assert {path.name for path in tests.iterdir() if path.is_dir()} - {"__pycache__"} == packages | OTHER_FOLDERS
    modules = {path.stem.strip("_") for path in package.glob("*.py")}
    assert {path.stem.removeprefix("test_") for path in tests.glob("*.py")} - {"conftest"} <= modules


def test_no_file_is_too_long_to_be_read_at_once() -> None:
    folders = ("src", "tests", "benchmarks", "reproduce", "examples")
    sources = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sources}
    assert len(lines) > 300
    assert {path.relative_to(ROOT).as_posix(): n for path, n in lines.items() if n > MOST_LINES} == {}


# -- compiled functions ----------------------------------------------------------------------------------------------

COMPILERS = {"kernel", "bare_kernel", "reducing_kernel", "step"}
MOST_PARAMETERS = 12
RANGES = {"doc_range", "word_range", "part"}  # from, to


def compiled_functions() -> Iterator[tuple[Path, ast.FunctionDef]]:
    for source in sorted((ROOT / "src" / "topicloom").rglob("*.py")):
        for node in ast.parse(source.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                decorators = {name.id for name in node.decorator_list if isinstance(name, ast.Name)}
                if decorators & COMPILERS:
                    yield source, node


def test_compiled_functions_take_few_parameters() -> None:
    counts = {f"{source.stem}.{node.name}": len(node.args.args) for source, node in compiled_functions()}
    assert len(counts) > 150
    assert {name: n for name, n in counts.items() if n > MOST_PARAMETERS} == {}


def test_states_and_priors_are_not_spread_over_parameters() -> None:
    """No ``*state, *prior`` where compiled functions are called, which would bind by position; ranges may be."""
    names = {node.name for _, node in compiled_functions()}
    for source in sorted((ROOT / "src" / "topicloom").rglob("*.py")):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                spread = {ast.unparse(given.value) for given in node.args if isinstance(given, ast.Starred)} - RANGES
                assert called not in names or not spread, f"{source}: {called} is given *{', *'.join(spread)}"


# -- one token's way -------------------------------------------------------------------------------------------------

# From the call of ``fit`` to the compiled sweep, as the architecture page lists them.
STATIONS = ["fit", "_fit", "run_chains", "run_one", "advance", "sweeps", "sweep_shards", "make_step", "draw"]


def test_the_compiled_sweep_is_ten_frames_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    frames: list[list[str]] = []

    def sweep_block(*given: object) -> None:
        frames.append([frame.name for frame in traceback.extract_stack()])
        dense.sweep_block(*given)

    watched = dense.DENSE._replace(make_draw=partial(dense.make_draw, kernel=sweep_block))
    monkeypatch.setitem(auto.BLOCK_SAMPLERS, "dense", watched)
    LDA(3, max_iter=1, random_state=0).fit(bars(n_docs=20).corpus)
    (names,) = frames
    own = names[len(names) - 1 - names[::-1].index("fit") :]
    assert own == [*STATIONS, "sweep_block"]
    assert len(own) <= 10
    page = (DOCS / "developer" / "architecture.md").read_text(encoding="utf-8")
    assert " → ".join(f"`{name}`" for name in STATIONS) in " ".join(page.split())
