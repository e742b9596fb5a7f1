"""The pages tell the truth: their code runs, their links lead somewhere, and they leave nothing out."""

import importlib
import inspect
import re
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import topicloom
from topicloom.corpus.formats import FORMATS
from topicloom.lda.gibbs import sampler_names

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BUILT = {"_build", "generated"}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(p for p in DOCS.rglob("*.md") if not BUILT & {*p.parts})]
NOT_RUN = "# not run:"


class Block(NamedTuple):
    language: str
    line: int  # of its first line of code
    code: str


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page."""
    start, fence, lines = 0, "", []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if not start and (opening := re.match(r"\s*(`{3,})(.*)", line)):
            start, fence, lines = number + 1, opening[1], [opening[2].strip()]
        elif start and line.strip() == fence:
            yield Block(lines[0], start, textwrap.dedent("\n".join(lines[1:])) + "\n")
            start = 0
        elif start:
            lines.append(line)
    assert not start, f"{page.name}, line {start - 1}: the block that begins here never ends"


def prose(page: Path) -> str:
    """A page without its fenced blocks and without code in the line, where brackets mean nothing."""
    text = re.sub(r"^\s*(`{3,}).*?^\s*\1\s*$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings get."""
    text = re.sub(r"^\s*(`{3,}).*?^\s*\1\s*$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def runnable(page: Path) -> list[Block]:
    python = [block for block in blocks(page) if block.language == "python"]
    return [block for block in python if not block.code.startswith(NOT_RUN)]


def named(pages: list[Path]) -> list[object]:
    return [pytest.param(page, id=page.name) for page in pages]


@pytest.fixture
def docstrings_kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading all docstrings takes some seconds: once for all pages and runs, and not in the user's own cache."""
    monkeypatch.setenv("TOPICLOOM_CACHE", str(request.config.cache.mkdir("topicloom-docstrings")))


# Pages that need a package beside those that all tests need.
NEEDS = {"docs/guide/cells.md": ("anndata", "the page needs the extra cells")}


@pytest.mark.usefixtures("docstrings_kept")
@pytest.mark.parametrize("page", named([page for page in PAGES if runnable(page)]))
def test_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page, in order, as one program."""
    if (name := page.relative_to(ROOT).as_posix()) in NEEDS:
        package, reason = NEEDS[name]
        pytest.importorskip(package, reason=reason)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names: dict[str, object] = {"__name__": page.stem}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in runnable(page):
            # Empty lines in front make a traceback name the line of the page.
            exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec"), names)


@pytest.mark.parametrize("page", named(PAGES))
def test_code_that_is_not_run_says_why(page: Path) -> None:
    for block in blocks(page):
        if block.language == "python" and block.code.startswith(NOT_RUN):
            reason = block.code.splitlines()[0].removeprefix(NOT_RUN).strip()
            assert reason, f"{page.name}, line {block.line}: no reason is given"
            compile(block.code, str(page), "exec")


@pytest.mark.parametrize("page", named(PAGES))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"https?:|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), f"{page.name} links to {target}, which does not exist"
        if anchor:
            assert anchor in anchors(file), f"{page.name} links to {target}; {file.name} has no such heading"


def toctrees(page: Path) -> Iterator[Path]:
    """The pages that a page's tables of contents list."""
    for block in blocks(page):
        if block.language == "{toctree}":
            for name in re.findall(r"^[\w/-]+$", block.code, flags=re.MULTILINE):
                yield page.parent / f"{name}.md"


def test_every_page_can_be_reached_from_the_index() -> None:
    reached, todo = set(), [DOCS / "index.md"]
    while todo:
        page = todo.pop()
        assert page.exists(), f"a table of contents lists {page}, which does not exist"
        if page not in reached:
            reached.add(page)
            todo.extend(toctrees(page))
    assert {page for page in PAGES if DOCS in page.parents} == reached


def in_code(page: str) -> set[str]:
    """Names that a page has in code type."""
    quoted = re.findall(r"`([^`\n]+)`", (DOCS / page).read_text(encoding="utf-8"))
    return {name for text in quoted for name in re.findall(r"[\w-]+", text)}


def options_of(model: Any) -> set[str]:
    """Parameters, and keys of those that are dicts, unless they are those of LDA."""
    inherited = topicloom.LDA._OPTIONS.items() if model is not topicloom.LDA else ()
    own = [keys for item, keys in model._OPTIONS.items() if (item, keys) not in inherited]
    return {*inspect.signature(model).parameters, *(key for keys in own for key in keys)}


def test_every_option_of_lda_and_every_sampler_is_explained() -> None:
    assert options_of(topicloom.LDA) | {*sampler_names()} <= in_code("guide/lda.md")


def test_every_option_of_variational_lda_is_explained() -> None:
    assert options_of(topicloom.VariationalLDA) <= in_code("guide/variational.md")


def test_every_option_of_labeled_models_is_explained() -> None:
    assert options_of(topicloom.DependencyLDA) <= in_code("guide/multilabel.md")


def test_every_option_of_compound_lda_is_explained() -> None:
    assert options_of(topicloom.CompoundLDA) <= in_code("guide/compound.md")


def test_every_option_of_a_process_is_explained() -> None:
    assert options_of(topicloom.HDP) <= in_code("guide/hdp.md")


def test_every_option_of_supervised_models_is_explained() -> None:
    assert options_of(topicloom.MedLDAClassifier) | options_of(topicloom.MedLDARegressor) <= in_code("guide/medlda.md")


def in_reference() -> set[str]:
    """Names that the API reference lists, with their modules."""
    found = set()
    for page in sorted((DOCS / "api").glob("*.md")):
        module = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if opening := re.match(r"\.\. currentmodule:: ([\w.]+)", line):
                module = opening[1]
            elif entry := re.match(r"   (\w+)$", line):
                found.add(f"{module}.{entry[1]}")
    return found


# Modules whose public names are those of ``__all__``.
MODULES = (
    "topicloom",
    "topicloom.datasets",
    "topicloom.cells",
    "topicloom.evaluation",
    "topicloom.diagnostics",
    "topicloom.explore.plots",
)


def test_every_public_name_is_in_the_reference() -> None:
    listed = in_reference()
    for module in MODULES:
        names = {name for name in importlib.import_module(module).__all__ if not name.startswith("_")}
        public = {name for name in names if not inspect.ismodule(getattr(importlib.import_module(module), name))}
        assert {f"{module}.{name}" for name in public} <= listed
    for name in listed:
        module, _, own = name.rpartition(".")
        assert hasattr(importlib.import_module(module), own), f"the reference lists {name}, which does not exist"


def test_every_way_into_a_corpus_is_explained() -> None:
    known = in_code("guide/corpus.md") | in_code("guide/text-preparation.md")
    assert set(FORMATS) <= known
    assert {option for spec in FORMATS.values() for option in spec.options} <= known
    for function in (topicloom.from_texts, topicloom.from_matrix, topicloom.from_frame, topicloom.read):
        keywords = [p.name for p in inspect.signature(function).parameters.values() if p.kind == p.KEYWORD_ONLY]
        assert {function.__name__, *keywords} <= known
    assert set(topicloom.datasets.__all__) - {"Synthetic", "SyntheticCompound", "SyntheticZipf"} <= known


def test_every_option_of_cells_is_explained() -> None:
    functions = (topicloom.from_anndata, topicloom.cells.feature_sets, topicloom.cells.annotate)
    options = {name for function in functions for name in list(inspect.signature(function).parameters)[1:]}
    options |= set(inspect.signature(topicloom.datasets.synthetic_cells).parameters) - {
        "n_cells",
        "n_regions",
        "n_topics",
    }
    assert options | set(topicloom.cells.__all__) <= in_code("guide/cells.md")


def test_the_list_of_checks_that_cannot_hold_is_complete() -> None:
    contract = (ROOT / "tests/contract/test_sklearn.py").read_text(encoding="utf-8")
    found = re.search(r'MEET_FRACTIONS = """(.*?)"""', contract, re.DOTALL)
    assert found
    assert {name for name in in_code("guide/lda.md") if name.startswith("check_")} - {"check_estimator"} == set(
        found[1].split()
    )
