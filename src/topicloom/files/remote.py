"""Directories at an address of fsspec, as ``s3://bucket/run``: read and written by way of a copy on this machine.

The copy is a directory as any other, in the folder for temporary files. What changes in it is put to the address, the
manifest last, so that there, too, a reader finds the old generation or the new one. Names are the same in both places.
"""

import os
import re
import secrets
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from topicloom.errors import InputError, MissingExtraError, StorageError
from topicloom.files.manifests import CHECKPOINT, MANIFEST, PLAIN, SAVED, TEMPORARY

_URL = re.compile(r"[A-Za-z][\w+.:-]+://")
_TRIES = 5  # of a reader, while another program writes
_Form = tuple[int, int, int]
_KEPT: list["Remote"] = []  # copies that stay until this process ends


def is_url(path: Any) -> bool:
    """Whether a path is an address of fsspec. Windows' drives have one letter."""
    return isinstance(path, str) and _URL.match(path) is not None


class Remote:
    """A directory at an address, and its copy here, which goes when this object does.

    With ``names_only`` files but the manifest are empty in the copy: for those who write and do not read.
    """

    def __init__(self, url: str, *, names_only: bool = False) -> None:
        self.url = url
        with self._reaching():
            self._fs()
        self.folder = Path(tempfile.mkdtemp(prefix="topicloom-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self._there: set[str] = set()
        self._sent: dict[str, _Form] = {}
        self._lock = threading.Lock()
        with self._reaching():
            self._fetch(names_only)

    def __getstate__(self) -> dict[str, Any]:
        """For other processes of this machine, which use the same copy."""
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    def keep(self) -> None:
        """Keep the copy until this process ends, as something reads from its files."""
        _KEPT.append(self)

    # -- reading -------------------------------------------------------------------------------------------------

    def _fetch(self, names_only: bool) -> None:
        for _ in range(_TRIES):
            names, manifest = self._names(), self._get(MANIFEST)
            for name in names:
                if name == MANIFEST or TEMPORARY.fullmatch(name):
                    continue
                if names_only:
                    (self.folder / name).touch()
                elif _is_ours(name):
                    self._get(name)
            if names_only or self._get(MANIFEST) == manifest:
                break
        self._there = set(names)
        self._sent = self._forms()

    def _names(self) -> list[str]:
        fs, root = self._fs()
        fs.invalidate_cache()
        try:
            entries = fs.ls(root, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [str(entry["name"]).rstrip("/").rsplit("/", 1)[-1] for entry in entries if entry["type"] == "file"]

    def _get(self, name: str) -> bytes | None:
        """Copy a file, if it is there; returns the manifest's content."""
        fs, root = self._fs()
        try:
            fs.get_file(f"{root}/{name}", str(self.folder / name))
        except FileNotFoundError:  # replaced or deleted meanwhile
            (self.folder / name).unlink(missing_ok=True)
            return None
        return (self.folder / name).read_bytes() if name == MANIFEST else None

    # -- writing -------------------------------------------------------------------------------------------------

    def push(self) -> None:
        """Put what has changed to the address, and delete there what the copy has no more."""
        with self._lock, self._reaching():
            fs, root = self._fs()
            fs.makedirs(root, exist_ok=True)
            forms = self._forms()
            for name in sorted(forms, key=lambda name: (name == MANIFEST, name)):
                if self._sent.get(name) != forms[name]:
                    self._put(fs, root, name)
            for name in self._there - forms.keys():
                if _is_ours(name):
                    fs.rm_file(f"{root}/{name}")
            self._there, self._sent = set(forms), forms

    def _put(self, fs: Any, root: str, name: str) -> None:
        """A file whose name may have been there before is replaced at once."""
        path, target = str(self.folder / name), f"{root}/{name}"
        if SAVED.fullmatch(name):
            fs.put_file(path, target)
            return
        temporary = f"{root}/.{name}.{secrets.token_hex(8)}.tmp"
        fs.put_file(path, temporary)
        fs.mv(temporary, target)

    def _forms(self) -> dict[str, _Form]:
        """Of the files in the copy, by which another with the same name is told."""
        found = {}
        for entry in os.scandir(self.folder):
            if not TEMPORARY.fullmatch(entry.name):
                about = entry.stat()
                found[entry.name] = (about.st_ino, about.st_size, about.st_mtime_ns)
        return found

    # -- messages ------------------------------------------------------------------------------------------------

    def _fs(self) -> tuple[Any, str]:
        """The file system, of which fsspec has one for all, and the directory's path in it."""
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise MissingExtraError(
                f"{self.url} is an address for fsspec; install it with pip install 'topicloom[remote]'."
            ) from None
        try:
            fs, root = url_to_fs(self.url)
        except ImportError as error:
            raise MissingExtraError(f"{self.url} needs a package that is not installed: {error}") from None
        except ValueError as error:
            raise InputError(f"{self.url} cannot be reached: {error}. Give an address that fsspec knows.") from None
        return fs, str(root).rstrip("/")

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """What a file system raises, which may be anything, as an error of ours."""
        try:
            yield
        except (InputError, StorageError, MissingExtraError):
            raise
        except Exception as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            raise StorageError(
                f"{self.url} cannot be read or written ({said}). Check the address, and that fsspec has access to it."
            ) from error

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Errors name the address in place of the copy."""
        try:
            yield
        except (InputError, StorageError) as error:
            error.args = tuple(str(arg).replace(str(self.folder), self.url) for arg in error.args)
            raise


def _is_ours(name: str) -> bool:
    return name == MANIFEST or any(form.fullmatch(name) for form in (SAVED, CHECKPOINT, PLAIN, TEMPORARY))
