"""How large a corpus a file may claim to be, relative to what it holds and to the memory that is left.

A word number or a header's count costs a few bytes to write and gigabytes to believe. So documents, words and tokens
are limited relative to the entries that a file has, unless ``max_size`` says that they are right.
"""

import os
import sys
from pathlib import Path

import numpy as np

from topicloom._types import AnyArray
from topicloom.errors import InputError, counted

FREE = 1 << 20  # documents or words of any file; as many columns as hashed features usually have
PER_ENTRY = 1000
FREE_TOKENS = 1 << 24
TOKENS_PER_ENTRY = 10_000
FREE_BYTES = 1 << 26  # of what any archive or gzipped text holds
BYTES_PER_PACKED = 100  # texts shrink to a tenth at best, tables of numbers to a fiftieth
FREE_FILES = 1 << 20
_TOKEN_BYTES = 12  # 4 each, and room for a copy while the stream grows


class Limits:
    """What one file claims, and what of it has been seen so far."""

    def __init__(self, path: Path, max_size: int | None) -> None:
        check_max_size(max_size)
        self._path, self._max_size = path, max_size
        self.entries = self.tokens = 0

    def add(self, counts: AnyArray) -> None:
        """Note entries with these counts; to be called before their tokens are made."""
        new = int(counts.sum(dtype=np.float64 if counts.dtype.kind == "f" else np.int64))
        self.entries += len(counts)
        self.tokens += new
        self._check("tokens", self.tokens, max(FREE_TOKENS, TOKENS_PER_ENTRY * self.entries), self.entries)
        check_memory(str(self._path), new)

    def check_sizes(self, n_docs: int, n_words: int, *, named: bool, entries: int | None = None) -> None:
        """Refuse documents, and words unless a vocabulary names them, that are too many for the entries."""
        seen = self.entries if entries is None else entries
        limit = max(FREE, PER_ENTRY * seen)
        self._check("documents", n_docs, limit, seen)
        if not named:
            self._check("words", n_words, limit, seen, " or a vocabulary")

    def _check(self, what: str, claimed: int, limit: int, entries: int, other: str = "") -> None:
        if claimed > (limit if self._max_size is None else self._max_size):
            least = self._max_size is None and f"more than are plausible for {counted(entries, 'entries')}"
            raise InputError(
                f"{self._path} claims {claimed:,} {what}, {least or f'more than max_size={self._max_size}'}. "
                f"If that is right, give max_size={claimed} or more{other}; otherwise the file is damaged."
            )


def check_unpacked(path: Path, packed: int, unpacked: int, n_files: int = 0, max_size: int | None = None) -> None:
    """Refuse an archive, or a gzipped text, that holds more than is plausible for its own bytes."""
    check_max_size(max_size)
    limit = max(FREE_BYTES, BYTES_PER_PACKED * packed) if max_size is None else max_size
    if unpacked > limit or n_files > max(FREE_FILES, packed // 16, max_size or 0):
        why = f"more than are plausible for {packed:,}" if max_size is None else f"more than max_size={max_size}"
        what = f"{unpacked:,} bytes" if unpacked > limit else f"more than {n_files:,} files"
        raise InputError(
            f"{path} holds {what}, {why}. If that is right, give max_size= with the bytes that it may hold; otherwise "
            "it is damaged."
        )


def check_max_size(max_size: object) -> None:
    right = isinstance(max_size, int | np.integer) and not isinstance(max_size, bool) and max_size >= 1
    if max_size is not None and not right:
        raise InputError(f"max_size={max_size!r} must be None or a whole number of 1 or more.")


def check_memory(where: str, n_tokens: int) -> None:
    """Refuse tokens that memory cannot hold, before it is asked for them."""
    if n_tokens > FREE_TOKENS // 16 and n_tokens * _TOKEN_BYTES > (left := available_memory()):
        raise InputError(
            f"{where}: the counts sum to {n_tokens:,} tokens, too many for the {left / 1e9:.1f} GB of memory left. "
            "Check the counts, or scale them down."
        )


def available_memory() -> int:
    """Bytes that this process can still take, as far as the system tells."""
    left = sys.maxsize
    try:
        with open("/proc/meminfo", "rb") as file:
            left = next(int(line.split()[1]) * 1024 for line in file if line.startswith(b"MemAvailable"))
    except (OSError, StopIteration):
        if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
            left = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            with open("/proc/self/statm", "rb") as file:
                left = min(left, most - int(file.read().split()[0]) * resource.getpagesize())
    except (ImportError, OSError):
        pass
    return max(left, 0)
