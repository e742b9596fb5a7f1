"""Without any of the private parts of Numba and LLVM that we use, fits give the same bits, and one line says so."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np
import pytest

import topicloom

# What another version of Numba may lack, taken away before topicloom is imported.
WITHOUT = {
    "the options": """
from numba.core import cpu
del cpu._options_mixin._nrt, cpu._options_mixin.forceinline
""",
    "a way to pack code": """
from numba.core import caching
del caching.Cache._index_key
""",
    "the same questions to a cache": """
from numba.core import caching
caching.NullCache.load_more = None
""",
    "prefetch": """
from numba.core import cgutils
known = cgutils.get_or_insert_function

def insert(module, kind, name):
    if name.startswith("llvm.prefetch"):
        raise NotImplementedError(name)
    return known(module, kind, name)

cgutils.get_or_insert_function = insert
""",
    "vectors": """
from llvmlite import ir
del ir.IRBuilder.shuffle_vector
""",
    "the modules": """
import sys
import llvmlite, numba.core
hidden = {(llvmlite, "ir"): llvmlite.ir, (numba.core, "caching"): numba.core.caching}
for (package, name), module in hidden.items():
    sys.modules[module.__name__] = None
    delattr(package, name)
import topicloom.numerics.numba_private  # finds neither; the rest of Numba cannot do without
for (package, name), module in hidden.items():
    sys.modules[module.__name__] = module
    setattr(package, name, module)
""",
}
PARTS = ("options", "use_cache", "prefetch_hint", "vector_weights")
FOUND = """
from topicloom.numerics import jit, numba_private, simd

@jit.kernel
def kernel():
    pass

print(*[int(part) for part in (
    numba_private.options(counts_references=False, inlined=True) == {"_nrt": False, "forceinline": True},
    type(kernel._cache).__name__ == "KernelCache",
    numba_private.prefetch_hint() is not None,
    numba_private.vector_weights(simd.LANES) is not None,
)])
"""
X = np.random.default_rng(0).poisson(0.5, (30, 12))
FIT = f"""
import numpy as np, topicloom
model = topicloom.LDA(23, sampler="dense", seed_words={{0: ["3"]}}, max_iter=3, random_state=0)  # 23 = 16 + 4 + 3 · 1
fingerprint = model.fit(topicloom.from_matrix(np.array({X.tolist()}), list("0123456789ab"))).fingerprint_
"""
UNKNOWN = f"topicloom: Numba {numba.__version__} is not known to this version, so "
SLOWER, NOT_KEPT = f"{UNKNOWN}fits are slower; their results are the same.", f"{UNKNOWN}kernels are compiled in each "


def run(code: str, folder: Path) -> tuple[list[str], list[str]]:
    """What a new process prints: its words on standard output, and its lines on standard error."""
    env = os.environ | {"NUMBA_CACHE_DIR": str(folder), "TOPICLOOM_QUIET": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr.splitlines()


@pytest.fixture(scope="module")
def fingerprint() -> str:
    """Of the same fit with all parts, in this process."""
    names: dict[str, str] = {}
    exec(FIT, names)
    return names["fingerprint"]


@pytest.mark.parametrize(
    ("without", "missing", "line"),
    [
        ("the options", {"options"}, None),
        ("a way to pack code", {"use_cache"}, NOT_KEPT),
        ("prefetch", {"prefetch_hint"}, SLOWER),
        ("vectors", {"vector_weights"}, SLOWER),
        ("the modules", {"use_cache", "prefetch_hint", "vector_weights"}, NOT_KEPT),
    ],
)
def test_a_fit_without(without: str, missing: set[str], line: str | None, tmp_path: Path, fingerprint: str) -> None:
    (*found, bits), said = run(WITHOUT[without] + FIT + FOUND + "print(fingerprint)", tmp_path)
    assert found == [str(int(part not in missing)) for part in PARTS]
    assert bits == fingerprint
    about_numba = [text for text in said if UNKNOWN in text]
    assert len(about_numba) == (line is not None)
    assert all(text.startswith(str(line)) for text in about_numba)
    assert bool(list(tmp_path.rglob("*.nbc"))) == ("use_cache" not in missing)


def test_all_parts_are_there_with_this_version(tmp_path: Path) -> None:
    assert run(FOUND, tmp_path) == (["1"] * len(PARTS), [])


def test_a_cache_that_is_asked_for_more_than_we_know_is_not_ours(tmp_path: Path) -> None:
    found, (line,) = run(WITHOUT["the same questions to a cache"] + FOUND, tmp_path)
    assert found == ["1", "0", "1", "1"]
    assert line.startswith(NOT_KEPT)


def test_nothing_is_compiled_on_import(tmp_path: Path) -> None:
    code = """
import numba
from numba.core import dispatcher
dispatcher.Dispatcher.compile = None
import topicloom.lda.model, topicloom.medlda.model, topicloom.numerics.numba_private as private
print(private.prefetch_hint.cache_info().currsize, private.vector_weights.cache_info().currsize)
"""
    assert run(code, tmp_path) == (["0", "0"], [])


# -- one file ------------------------------------------------------------------------------------------------------

PUBLIC = {"numba", "numba.extending", "numba.types"}  # what our sources may import of Numba
PRIVATE = {"_nrt", "forceinline", "_impl", "_cache", "_index_key", "_impl_class", "cgutils"}


def private_parts(source: str) -> Iterator[str]:
    """Private parts of Numba and LLVM that a source names."""
    for node in ast.walk(ast.parse(source)):
        modules = []
        if isinstance(node, ast.Import):
            modules = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        elif isinstance(node, ast.Attribute) and node.attr in PRIVATE:
            yield node.attr
        elif isinstance(node, ast.keyword) and node.arg in PRIVATE:
            yield str(node.arg)
        elif isinstance(node, ast.Constant) and node.value in PRIVATE:
            yield str(node.value)
        yield from (name for name in modules if name.split(".")[0] in ("numba", "llvmlite") and name not in PUBLIC)
        if modules == ["numba"] and isinstance(node, ast.ImportFrom):
            yield from (name.name for name in node.names if name.name not in ("njit", "types", "config"))


@pytest.mark.parametrize(
    "source",
    [
        "from llvmlite import ir",
        "import llvmlite.binding",
        "from numba.core import types",
        "import numba.core.caching",
        "from numba import core",
        "numba.njit(_nrt=False)",
        "options = {'_nrt': False}",
        "dispatcher._cache = None",
        "cache._impl.reduce(result)",
    ],
)
def test_a_private_part_is_noticed(source: str) -> None:
    assert list(private_parts(source))


def test_private_parts_are_in_one_file() -> None:
    package = Path(topicloom.__path__[0])
    found = {
        path.relative_to(package).as_posix() for path in package.rglob("*.py") if [*private_parts(path.read_text())]
    }
    assert found == {"numerics/numba_private.py"}
