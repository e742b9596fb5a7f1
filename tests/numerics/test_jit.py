"""Compiled code on disk is taken only for the sources that it was compiled from, those of other kernels among them."""

import importlib.util
import types
from pathlib import Path

import pytest

import topicloom
from topicloom.numerics import jit as _jit

SOURCE = """
from topicloom.numerics.jit import kernel

@kernel
def double(x):
    return 2 * x
"""


def compiled(folder: Path) -> types.ModuleType:
    """As a new process would have it."""
    folder.mkdir(exist_ok=True)
    path = folder / "of_a_test.py"
    if not path.exists():
        path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("of_a_test", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.double(2) == 4
    return module


def from_disk(module: types.ModuleType) -> int:
    return sum(module.double.stats.cache_hits.values())


def test_an_edit_of_any_kernel_compiles_all_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert from_disk(compiled(tmp_path)) == 0
    assert from_disk(compiled(tmp_path)) == 1
    monkeypatch.setattr(_jit, "SOURCES", "edited")
    assert from_disk(compiled(tmp_path)) == 0
    assert from_disk(compiled(tmp_path)) == 1


def test_the_digest_is_of_all_sources(tmp_path: Path) -> None:
    (tmp_path / "family").mkdir()
    for name in ("a.py", "family/b.py"):
        (tmp_path / name).write_text("from topicloom.numerics.jit import kernel")
    (tmp_path / "c.py").write_text("no compiled function")
    before = _jit._digest(tmp_path)
    (tmp_path / "c.py").write_text("none either")
    assert _jit._digest(tmp_path) == before
    (tmp_path / "family/b.py").write_text("from topicloom.numerics.jit import step")
    assert _jit._digest(tmp_path) != before
    assert _jit._digest(Path(topicloom.__path__[0])) == _jit.SOURCES
