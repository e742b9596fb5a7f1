"""Compiled code on disk: read only if it is whole, written if it can be, and never a reason for a fit to fail.

Numba's own cache unpickles and runs whatever lies in its files. Here each kernel has one file, which begins with a
digest of the rest. A file that is damaged or cannot be read is as good as none: the kernel is compiled, and the file is
replaced if it can be.

Files are good for the sources of all kernels, by their content, for the versions of Numba, llvmlite, NumPy and Python,
and for the processor. They lie beside the sources. Where these cannot be written to, or ``NUMBA_CACHE_DIR`` names a
folder, they lie in one folder for all environments with the same sources and versions, wherever these are installed, so
that the folder can be copied to other machines.

How Numba is told of these files, and makes bytes of compiled code, is private to it (``numba_private``): with a version
of Numba that differs there, kernels are compiled in memory.
"""

import contextlib
import hashlib
import os
import pickle
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

from topicloom import _limits
from topicloom.numerics import numba_private

_PACKAGE = Path(__file__).parents[1]
_LONG = 1.0  # seconds of compiling before it is worth a line
_DIGEST = 16


class Reporter:
    """At most a line about compiling and one about trouble with the files, per process, on standard error.

    ``TOPICLOOM_QUIET=1`` silences both.
    """

    def __init__(self) -> None:
        self.said_compiling = self.said_trouble = False
        self._lock = threading.Lock()
        self._spent, self._depth, self._since = 0.0, 0, 0.0
        self._timer: threading.Timer | None = None

    def compiling(self) -> None:
        """If compiling takes long, say so once."""
        with self._lock:
            if self.said_compiling:
                return
            self.said_compiling = True
        _say(
            "compiling for this machine, once after an install: some 5 to 20 s. `topicloom warmup` does it in advance."
        )

    def trouble(self, text: str) -> None:
        """Kernels are compiled because of a file, or will be again: stands for the line about compiling, too."""
        with self._lock:
            if self.said_trouble:
                return
            self.said_trouble = self.said_compiling = True
        _say(text)

    def begin(self) -> None:
        """A kernel is being compiled. Numba holds a lock meanwhile; those that it calls are compiled inside."""
        self._depth += 1
        if self._depth > 1 or self.said_compiling:
            return
        self._since = time.monotonic()
        try:
            self._timer = threading.Timer(max(0.0, _LONG - self._spent), self.compiling)
            self._timer.daemon = True
            self._timer.start()
        except RuntimeError:  # no threads to be had
            self.compiling()

    def end(self) -> None:
        self._depth -= 1
        if self._depth <= 0:
            self._depth = 0
            self._spent += time.monotonic() - self._since
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None


def _say(text: str) -> None:
    if os.environ.get("TOPICLOOM_QUIET", "0") in ("", "0") and sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):  # closed
            print(f"topicloom: {text}", file=sys.stderr, flush=True)


reporter = Reporter()


class Record:
    """What a process took from files and what it compiled."""

    def __init__(self) -> None:
        self.n_loaded = 0
        self.compiled: dict[str, float] = {}  # seconds of each kernel, without those that it calls
        self.files: set[Path] = set()
        self._lock = threading.Lock()
        self._under_way: list[list[float]] = []  # since when, and seconds of kernels that it calls

    def begin(self) -> None:
        """A kernel is being compiled. Numba holds a lock meanwhile; those that it calls are compiled inside."""
        self._under_way.append([time.perf_counter(), 0.0])

    def end(self, name: str) -> None:
        since, inside = self._under_way.pop() if self._under_way else [time.perf_counter(), 0.0]
        seconds = time.perf_counter() - since
        if self._under_way:
            self._under_way[-1][1] += seconds
        self.compiled[name] = self.compiled.get(name, 0.0) + seconds - inside

    def loaded(self, path: Path) -> None:
        with self._lock:
            self.n_loaded += 1
            self.files.add(path)


record = Record()


def attach(dispatcher: Any, stamp: str) -> None:
    """Let a compiled function use files of ours; they are good for one stamp."""
    if getattr(numba.config, "DISABLE_JIT", False):
        return
    function = getattr(dispatcher, "py_func", None)
    if function is None or not numba_private.use_cache(dispatcher, KernelCache(function, stamp)):
        reporter.trouble(
            f"Numba {numba.__version__} is not known to this version, so kernels are compiled in each process again."
        )


class KernelCache:
    """What Numba asks for compiled code, one for each kernel."""

    def __init__(self, function: Callable[..., Any], stamp: str) -> None:
        self._function, self._stamp = function, stamp
        self._files: _Files | None = None

    @property
    def cache_path(self) -> str | None:
        return None if self._files is None else str(self._files.path.parent)

    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def flush(self) -> None: ...

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code; None if there is none, which makes Numba compile."""
        _limits.require(_limits.LOADING, "Loading compiled code")
        found = self._load(sig, target_context)
        if found is None:
            _limits.require(_limits.COMPILING, "Compiling a kernel")
            reporter.begin()
            record.begin()
        elif self._files is not None:
            record.loaded(self._files.path)
        return found

    def _load(self, sig: Any, context: Any) -> Any:
        try:
            if self._files is None:
                self._files = _Files(self._function, self._stamp)
        except Exception as error:
            reporter.trouble(_NOT_KEPT.format(where="any folder", why=_reason(error)))
            return None
        try:
            return self._files.load(sig, context)
        except MemoryError:
            raise
        except Exception as error:
            reporter.trouble(
                f"compiled code in {self.cache_path} cannot be used ({_reason(error)}), so it is compiled again: some "
                "5 to 20 s."
            )
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, if that can be done."""
        reporter.end()
        record.end(f"{self._function.__module__}.{self._function.__qualname__}")
        try:
            if self._files is not None:
                self._files.save(sig, data)
                record.files.add(self._files.path)
        except Exception as error:
            reporter.trouble(_NOT_KEPT.format(where=self.cache_path, why=_reason(error)))


_NOT_KEPT = (
    "compiled code cannot be kept in {where} ({why}), so each process compiles again, some 5 to 20 s. NUMBA_CACHE_DIR "
    "names another folder."
)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error).partition("\n")[0] or type(error).__name__


class DamagedError(Exception):
    """A file is not as it was written."""


def versions(stamp: str) -> tuple[str, ...]:
    """What compiled code depends on beside the processor and Python, whose version is in the files' names."""
    return numba.__version__, numba_private.llvm_version(), np.__version__, stamp


def _place(function: Callable[..., Any], path: Path, stamp: str) -> tuple[Path, bool]:
    """The file for a kernel of which Numba would make this one, and whether the kernel is of this package."""
    source = Path(function.__code__.co_filename)
    if not source.is_relative_to(_PACKAGE):
        return path, False
    if path.parent == source.parent / "__pycache__":
        return path, True
    digest = hashlib.blake2b("\0".join(versions(stamp)).encode(), digest_size=8).hexdigest()
    return path.parents[1] / f"topicloom-{digest}" / source.parent.relative_to(_PACKAGE) / path.name, True


class _Files:
    """A kernel's compiled code in one file, by the types of its arguments and the machine."""

    def __init__(self, function: Callable[..., Any], stamp: str) -> None:
        self._packing = numba_private.Packing(function)
        place, of_package = _place(function, self._packing.path, stamp)
        self.path = place.with_name(f"{place.name}.nbc")
        # The stamp is of the content of all our sources; other sources Numba knows by time and size.
        self._stamp = (*versions(stamp), None if of_package else self._packing.source_stamp)

    def load(self, sig: Any, context: Any) -> Any:
        packed = self._read().get(self._packing.key_wanted(sig, context))
        return None if packed is None else self._packing.unpack(packed, context)

    def save(self, sig: Any, result: Any) -> None:
        if not self._packing.can_pack(result):
            return
        try:
            kept = self._read()
        except Exception:  # said when it was to be loaded
            kept = {}
        kept[self._packing.key_compiled(sig, result)] = self._packing.pack(result)
        _replace(self.path, sealed(self._packing.to_bytes((self._stamp, kept))))

    def _read(self) -> dict[Any, bytes]:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        stamp, kept = pickle.loads(unsealed(data))
        return kept if stamp == self._stamp else {}


def sealed(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_DIGEST).digest() + payload


def unsealed(data: bytes) -> bytes:
    digest, payload = data[:_DIGEST], data[_DIGEST:]
    if hashlib.blake2b(payload, digest_size=_DIGEST).digest() != digest:
        raise DamagedError("damaged")
    return payload


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.tmp.{uuid.uuid4().hex[:16]}")
    try:
        beside.write_bytes(data)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
