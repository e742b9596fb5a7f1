"""Compiled code on disk: whatever happens to it, kernels run, and one line says so."""

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import llvmlite
import numba
import numpy as np
import pytest
import scipy
from numba.core import caching

import topicloom
from tests.numerics.test_jit import compiled, from_disk
from topicloom.lda.gibbs import dense as gibbs_dense
from topicloom.numerics import cache as _cache
from topicloom.numerics import jit as _jit

Lines = Callable[[], list[str]]


@pytest.fixture(autouse=True)
def beside_the_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """New kernels are kept beside their sources, wherever those that are there already are kept."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Lines:
    """What a new process would have said since the last call."""
    monkeypatch.setenv("TOPICLOOM_QUIET", "0")
    monkeypatch.setattr(_cache, "_LONG", 60.0)  # on a busy machine a small kernel takes seconds

    def call() -> list[str]:
        monkeypatch.setattr(_cache, "reporter", _cache.Reporter())
        return capfd.readouterr().err.splitlines()

    call()
    return call


def kept(folder: Path) -> Path:
    (file,) = folder.rglob("*.nbc")
    return file


def flip(position: float) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        data = bytearray(file.read_bytes())
        data[int(position * (len(data) - 1))] ^= 1
        file.write_bytes(data)

    return damage


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def make_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES = {
    "first byte": flip(0),
    "digest": flip(0.0005),
    "middle": flip(0.5),
    "last byte": flip(1),
    "truncated": truncate,
    "half": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "longer": lambda file: file.write_bytes(file.read_bytes() + b"\0"),
    "empty": lambda file: file.write_bytes(b""),
    "garbage": lambda file: file.write_bytes(b"garbage " * 999),
    "zeros": lambda file: file.write_bytes(bytes(file.stat().st_size)),
    "another pickle": lambda file: file.write_bytes(_cache.sealed(b"\x80\x04K\x01.")),
    "no pickle": lambda file: file.write_bytes(_cache.sealed(b"c")),
}


@pytest.mark.parametrize("damage", [pytest.param(how, id=name) for name, how in DAMAGES.items()])
def test_a_damaged_file_is_replaced(damage: Callable[[Path], None], tmp_path: Path, lines: Lines) -> None:
    compiled(tmp_path)
    assert lines() == []
    damage(kept(tmp_path))
    assert from_disk(compiled(tmp_path)) == 0  # and it computes what it should
    (line,) = lines()
    assert line.startswith(f"topicloom: compiled code in {tmp_path / '__pycache__'} cannot be used (")
    assert from_disk(compiled(tmp_path)) == 1
    assert lines() == []


def test_a_changed_byte_never_goes_unnoticed() -> None:
    data = _cache.sealed(b"payload")
    assert _cache.unsealed(data) == b"payload"
    for i in range(len(data)):
        for bit in range(8):
            with pytest.raises(_cache.DamagedError):
                _cache.unsealed(data[:i] + bytes([data[i] ^ 1 << bit]) + data[i + 1 :])


def refuse(code: int) -> Callable[..., Any]:
    def call(*_: object, **__: object) -> Any:
        raise OSError(code, os.strerror(code))

    return call


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO])
def test_a_file_that_cannot_be_read_is_replaced(
    code: int, tmp_path: Path, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", refuse(code))
        assert from_disk(compiled(tmp_path)) == 0
    (line,) = lines()
    assert f"cannot be used ({os.strerror(code)})" in line
    assert from_disk(compiled(tmp_path)) == 1


def test_a_folder_in_place_of_the_file(tmp_path: Path, lines: Lines) -> None:
    compiled(tmp_path)
    make_a_folder(kept(tmp_path))
    assert from_disk(compiled(tmp_path)) == 0
    (line,) = lines()
    assert "cannot be used (Is a directory)" in line
    assert [file.name for file in kept(tmp_path).parent.iterdir()] == [kept(tmp_path).name]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
@pytest.mark.parametrize("step", ["write", "rename"])
def test_what_cannot_be_written_is_compiled_in_memory(
    code: int, step: str, tmp_path: Path, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(*((Path, "write_bytes") if step == "write" else (os, "replace")), refuse(code))
        for _ in range(2):
            assert from_disk(compiled(tmp_path)) == 0
            (line,) = lines()
            assert f"cannot be kept in {tmp_path / '__pycache__'} ({os.strerror(code)})" in line
            assert "NUMBA_CACHE_DIR" in line
    assert list((tmp_path / "__pycache__").glob("*nbc*")) == []


def nothing_known(*_: object) -> Any:
    return SimpleNamespace()


def no_place(*_: object) -> Any:
    raise RuntimeError("cannot cache function 'double': no locator available")


@pytest.mark.parametrize("stand_in", [nothing_known, no_place])
def test_without_a_place_or_numbas_private_parts_kernels_are_compiled_in_memory(
    stand_in: Callable[..., Any], tmp_path: Path, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caching, "FunctionCache", stand_in)
    for _ in range(2):
        assert from_disk(compiled(tmp_path)) == 0
        (line,) = lines()
        assert "cannot be kept in any folder" in line


def test_a_numba_that_asks_no_cache_of_ours(lines: Lines) -> None:
    _cache.attach(SimpleNamespace(), "stamp")
    _cache.attach(SimpleNamespace(), "stamp")
    (line,) = lines()
    assert f"Numba {numba.__version__}" in line


def test_types_share_a_file_and_versions_do_not(tmp_path: Path, lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cache, "_LONG", 1000.0)  # a busy machine takes a second for small kernels, too
    module = compiled(tmp_path)
    assert module.double(1.5) == 3.0
    again = compiled(tmp_path)
    assert again.double(1.5) == 3.0
    assert from_disk(again) == 2
    for package in (numba, llvmlite, np):
        monkeypatch.setattr(package, "__version__", "another")
        assert from_disk(compiled(tmp_path)) == 0
        assert from_disk(compiled(tmp_path)) == 1
    monkeypatch.setattr(scipy, "__version__", "another")  # of which compiled code knows nothing
    assert from_disk(compiled(tmp_path)) == 1
    assert lines() == []


def test_kernels_of_the_package_are_known_by_content_and_by_no_path(tmp_path: Path) -> None:
    kernel = gibbs_dense.sweep_block.py_func  # type: ignore[attr-defined]
    beside = Path(gibbs_dense.__file__).parent / "__pycache__" / "a"
    assert _cache._place(kernel, beside, "stamp") == (beside, True)
    path, of_package = _cache._place(kernel, tmp_path / "gibbs_of_some_place" / "a", "stamp")
    assert of_package
    assert path.relative_to(tmp_path).parts[1:] == ("lda", "gibbs", "a")
    other, _ = _cache._place(kernel, tmp_path / "gibbs_of_another" / "a", "stamp")
    assert other == path
    assert _cache._place(kernel, tmp_path / "x" / "a", "another stamp")[0] != path
    assert _cache._place(from_disk, tmp_path / "x" / "a", "stamp") == (tmp_path / "x" / "a", False)


def test_beside_sources_that_cannot_be_written_to_the_users_cache_is_used(
    tmp_path: Path, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caching.config, "CACHE_DIR", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(caching.InTreeCacheLocator, "ensure_cache_path", refuse(errno.EROFS))
    assert from_disk(compiled(tmp_path / "package")) == 0
    assert from_disk(compiled(tmp_path / "package")) == 1
    assert len([*(tmp_path / "home").rglob("*.nbc")]) == 1
    files = _cache._Files(gibbs_dense.sweep_block.py_func, "stamp")  # type: ignore[attr-defined]
    assert files.path.is_relative_to(tmp_path / "home")
    assert files.path.parts[-4].startswith("topicloom-")
    assert lines() == []


def test_what_is_compiled_and_what_is_loaded_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n_loaded in range(2):
        monkeypatch.setattr(_cache, "record", _cache.Record())
        compiled(tmp_path)
        assert _cache.record.n_loaded == n_loaded
        assert [*_cache.record.compiled] == ["of_a_test.double"] * (1 - n_loaded)
        assert _cache.record.files == {kept(tmp_path)}
        assert all(seconds > 0 for seconds in _cache.record.compiled.values())


# -- the line about compiling ---------------------------------------------------------------------------------------


def test_compiling_that_takes_long_is_said_once(tmp_path: Path, lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(tmp_path / "a")
    assert lines() == []  # a small kernel is quick
    monkeypatch.setattr(_cache, "_LONG", 0.0)
    threads = [threading.Thread(target=compiled, args=(tmp_path / name,)) for name in "bc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    compiled(tmp_path / "d")
    (line,) = lines()
    assert line.startswith("topicloom: compiling for this machine, once")
    compiled(tmp_path / "d")  # from disk
    assert lines() == []
    monkeypatch.setenv("TOPICLOOM_QUIET", "1")
    compiled(tmp_path / "e")
    assert lines() == []


def test_short_times_add_up(lines: Lines) -> None:
    _cache.reporter._spent = 60.0
    _cache.reporter.begin()
    assert _cache.reporter._timer is not None
    _cache.reporter._timer.join()
    _cache.reporter.end()
    assert len(lines()) == 1


def test_no_standard_error_is_no_trouble(monkeypatch: pytest.MonkeyPatch, lines: Lines) -> None:
    for stream in (None, SimpleNamespace(write=refuse(errno.EBADF), flush=refuse(errno.EBADF))):
        monkeypatch.setattr(sys, "stderr", stream)
        _cache.Reporter().compiling()
    monkeypatch.undo()


# -- a whole fit ----------------------------------------------------------------------------------------------------

X = [[2, 0, 1], [0, 3, 1], [1, 1, 0], [4, 0, 0]]
FIT = f"""
import numpy as np, topicloom
print(topicloom.LDA(2, max_iter=3, random_state=0).fit(np.array({X})).fingerprint_)
"""


def fit_elsewhere(cache: Path) -> tuple[str, list[str]]:
    env = os.environ | {"NUMBA_CACHE_DIR": str(cache), "TOPICLOOM_QUIET": "0"}
    done = subprocess.run([sys.executable, "-c", FIT], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip(), done.stderr.splitlines()


def test_a_fit_with_every_file_damaged(tmp_path: Path) -> None:
    model = topicloom.LDA(2, max_iter=3, random_state=0).fit(np.array(X))
    damages = [flip(0.5), truncate, flip(0.9), lambda file: file.write_bytes(b"")]
    own = Path(gibbs_dense.sweep_block.stats.cache_path)  # type: ignore[attr-defined]
    package = Path(topicloom.__path__[0])
    digest = _cache._place(gibbs_dense.sweep_block.py_func, tmp_path / "one" / "file", _jit.SOURCES)[0].parents[2].name
    in_tree = own.name == "__pycache__"
    for folder in sorted({path.parent.relative_to(package) for path in package.rglob("*.py")}):
        compiled = package / folder / "__pycache__" if in_tree else own.parents[1] / folder
        copies = tmp_path / digest / folder
        copies.mkdir(parents=True)
        for i, file in enumerate(sorted(compiled.glob("*.nbc"))):
            copy = copies / file.name
            copy.write_bytes(file.read_bytes())
            damages[i % len(damages)](copy)
    fingerprint, said = fit_elsewhere(tmp_path)
    assert fingerprint == model.fingerprint_
    assert len(said) == 1
    assert said[0].startswith(f"topicloom: compiled code in {tmp_path}")
    assert fit_elsewhere(tmp_path) == (fingerprint, [])
