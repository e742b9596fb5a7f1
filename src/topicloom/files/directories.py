"""Directories of models and runs: one manifest names every other file, and is put in place by one rename.

    manifest.json                what this is, parameters, and the name and digest of every file that belongs to it
    corpus-<digest>.safetensors  and model-, labels-, targets-, chain-0-: never changed once they are written
    chain-0.safetensors          the checkpoint of a chain that runs, replaced as a whole; it names its run

A save writes new files beside the old ones, swaps the manifest, and then deletes what no manifest names. So a reader
finds the old generation or the new one, and a process that is killed leaves one of them.
"""

import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from topicloom._types import AnyArray
from topicloom.errors import InputError, StorageError
from topicloom.files.arrays import (
    as_path,
    cannot_write,
    check_digest,
    read_arrays,
    read_digest,
    read_info,
    sync_folder,
    write_arrays,
    write_named,
)
from topicloom.files.manifests import (
    CHAIN,
    CHECKPOINT,
    CORPUS,
    LABELS,
    MANIFEST,
    MODEL,
    NUMBERS,
    PLAIN,
    SAVED,
    TARGETS,
    TEMPORARY,
    VERSION,
    chain_role,
    checkpoint_name,
    read_manifest,
    run_name,
    write_manifest,
)  # fmt: skip
from topicloom.files.remote import Remote, is_url

if sys.platform != "win32":
    import fcntl

Part = tuple[Mapping[str, AnyArray], Mapping[str, Any]]
"""Arrays and info of one file."""
Found = TypeVar("Found")

_TRIES = 50  # of a reader, while others save
_THREADS = threading.Lock()  # in place of a file lock on systems without


# -- reading -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stored:
    """A directory as its manifest described it when it was opened. What is read later is what that manifest names."""

    folder: Path
    manifest: dict[str, Any]
    written: tuple[int, int] | None  # by which its manifest is told from another with the same content
    remote: Remote | None = None  # where the directory is, if ``folder`` is a copy of it

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Stored":
        if is_url(path):
            remote = Remote(str(path))
            with remote.naming():
                return replace(cls.open(remote.folder), remote=remote)
        folder = as_path(path)
        written = _when_written(folder)
        return cls(folder, read_manifest(folder), written)

    @property
    def where(self) -> str | Path:
        """The directory, as it was given."""
        return self.folder if self.remote is None else self.remote.url

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Errors name the directory as it was given."""
        with nullcontext() if self.remote is None else self.remote.naming():
            yield

    def push(self) -> None:
        """Put what has changed to where the directory is, if ``folder`` is a copy of it."""
        if self.remote is not None:
            self.remote.push()

    def again(self) -> "Stored":
        """The directory as it is now."""
        return replace(Stored.open(self.folder), remote=self.remote)

    @property
    def running(self) -> bool:
        return bool(self.manifest["status"] == "running")

    def has(self, role: str) -> bool:
        return role in self.manifest["files"]

    def path(self, role: str) -> Path:
        """The file that the manifest names."""
        return self.folder / str(self.manifest["files"][role]["file"])

    def is_saved_over(self) -> bool:
        """Whether something has been saved here since, also if all is as it was by now."""
        return _when_written(self.folder) not in (None, self.written)

    def is_replaced(self) -> bool:
        """Whether the directory has a manifest with another content by now."""
        try:
            return read_manifest(self.folder) != self.manifest
        except StorageError:
            return False

    @contextmanager
    def opening(self, role: str) -> Iterator[tuple[Path, str | None]]:
        """Path and digest of a file. What goes wrong with it is told as what it is."""
        try:
            if not self.has(role):
                raise StorageError(f"{self.folder} has no {role} file; it is not complete.")
            entry = self.manifest["files"][role]
            path = self.folder / entry["file"]
            if not path.exists():
                raise StorageError(f"{self.folder} has no {path.name}; it is not complete.")
            yield path, entry["digest"]
        except StorageError:
            if self.is_saved_over():
                raise StorageError(
                    f"{self.folder} has been saved over or resumed since it was opened, so its {role} can no longer be "
                    f"read. Load it again: topicloom.load({str(self.folder)!r})."
                ) from None
            raise

    def read(self, role: str) -> tuple[dict[str, AnyArray], Any]:
        """Arrays and info of a file, if it is the one that the manifest names."""
        with self.opening(role) as (path, expected):
            arrays, info, digest = read_arrays(path)
            check_digest(path, digest, expected)
            return arrays, info

    # -- chains

    def chain_path(self, index: int) -> Path | None:
        """Where a chain is: of a run, its checkpoint if there is one. None if it has not begun."""
        path, role = self.folder / checkpoint_name(index), chain_role(index)
        if self.running and path.exists():
            return path
        return self.folder / self.manifest["files"][role]["file"] if self.has(role) else None

    def chains(self) -> list[int]:
        """Numbers of the chains that are there."""
        names = {*self.manifest["files"], *(os.listdir(self.folder) if self.running else ())}
        found = {name.removesuffix(".safetensors") for name in names if CHAIN.fullmatch(name)}
        return sorted(int(name.removeprefix("chain-")) for name in found)

    def read_chain(self, index: int, *, mapped: Collection[str] = ()) -> tuple[Path, dict[str, AnyArray], Any]:
        """Path, arrays and info of a chain, if it belongs to this run."""
        role = chain_role(index)
        path = self.chain_path(index) if self.running else None
        if path is not None:
            arrays, info, digest = read_arrays(path, mapped=mapped)
            expected = self.manifest["files"].get(role, {}).get("digest")
        else:
            with self.opening(role) as (path, expected):
                arrays, info, digest = read_arrays(path, mapped=mapped)
                check_digest(path, digest, expected)
        if digest != expected:
            self._check_run(path, info, index)
        return path, arrays, info

    def _check_run(self, path: Path, info: Any, index: int) -> None:
        about = info if isinstance(info, dict) else {}
        if about.get("run") != self.manifest["run"]:
            raise StorageError(
                f"{path} belongs to another run ({about.get('run') or 'without a name'}); this directory's is "
                f"{self.manifest['run'] or 'without a name'}. Restore it from a copy, or delete it: resume then starts "
                "this chain again."
            )
        if about.get("index") != index:
            raise StorageError(f"{path} is chain {about.get('index')} of this run. Restore it from a copy.")

    def save_chain(self, index: int, part: Part) -> None:
        """Write the checkpoint of a chain that runs."""
        arrays, info = part
        write_arrays(self.folder / checkpoint_name(index), arrays, {**info, "run": self.manifest["run"]})
        self.push()


def opened(path: str | os.PathLike[str], read: Callable[[Stored], Found]) -> Found:
    """Open a directory and read from it; if it is saved over meanwhile, read the new generation."""
    for attempt in range(_TRIES):
        stored = Stored.open(path)
        try:
            with stored.naming():
                return read(stored)
        except StorageError:
            if attempt == _TRIES - 1 or not stored.is_saved_over():
                raise
    raise AssertionError


def _when_written(folder: Path) -> tuple[int, int] | None:
    """Number and time of the manifest's file; None if there is none."""
    try:
        found = (folder / MANIFEST).stat()
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_mtime_ns


# -- writing -------------------------------------------------------------------------------------------------------


def is_free(folder: Path) -> bool:
    """Whether a run can start here: nothing is there, or only what a save or a start that was killed left behind."""
    if not folder.exists():
        return True
    return folder.is_dir() and all(map(_is_left, os.listdir(folder)))


def _is_left(name: str) -> bool:
    """Whether a file without a manifest is what a kill leaves behind."""
    return bool(SAVED.fullmatch(name) or TEMPORARY.fullmatch(name))


@contextmanager
def _kept_at(path: Any) -> Iterator[tuple[Path, Remote | None]]:
    """A directory to write to. If it is at an address, a copy of it, which goes there in the end."""
    if not is_url(path):
        yield as_path(path), None
        return
    remote = Remote(path, names_only=True)
    with remote.naming():
        yield remote.folder, remote
        remote.push()


def save_model(
    path: str | os.PathLike[str], kind: str, params: Mapping[str, Any], seed: int, parts: Mapping[str, Part],
    names: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Write a model's files. Until all are there, a model that the directory has stays as it is."""
    with _kept_at(path) as (folder, _), _writing(folder):
        old = read_manifest(folder) if (folder / MANIFEST).exists() else None
        if old is None and not is_free(folder):
            raise InputError(f"{folder} is not empty and not a topicloom directory; give another.")
        _clean(folder)
        about = {"kind": kind, "status": "finished", "seed": seed, "params": params, "names": names}
        files = _write_data(folder, parts)
        run = run_name(kind, seed, params, files)
        for role, (arrays, info) in parts.items():
            if role not in files:
                named = {"run": run} if role.startswith("chain-") else {}
                files[role] = _entry(*write_named(folder, role, arrays, {**info, **named}))
        write_manifest(folder, about | {"run": run}, files, _plain_names(old, files))


def start_run(
    path: str | os.PathLike[str], kind: str, params: Mapping[str, Any], seed: int, data: Mapping[str, Part]
) -> Stored:  # fmt: skip
    """Prepare a directory for checkpoints, with all the data that resuming needs."""
    with _kept_at(path) as (folder, remote), _writing(folder):
        if not is_free(folder):
            raise _not_free(folder)
        _clean(folder)
        files = _write_data(folder, data)
        about = {"kind": kind, "status": "running", "seed": seed, "params": params}
        write_manifest(folder, about | {"run": run_name(kind, seed, params, files)}, files)
    return replace(Stored.open(folder), remote=remote)


def _not_free(folder: Path) -> InputError:
    if (folder / MANIFEST).exists():
        return InputError(
            f"{folder} is not empty. Continue the run in it with topicloom.resume({str(folder)!r}), "
            "or give another directory."
        )
    found = next(name for name in sorted(os.listdir(folder)) if not _is_left(name))
    return InputError(
        f"{folder} is not empty: it has {found!r}, and no {MANIFEST}, so there is no run to resume. Give another "
        "directory, or move what is in it elsewhere."
    )


def restart_run(stored: Stored, kind: str, params: Mapping[str, Any]) -> Stored:
    """Turn a directory whose files have been read into a run again; its chains stay until they are replaced."""
    with _writing(stored.folder):
        if stored.is_replaced():
            raise StorageError(f"{stored.folder} has been saved over or resumed by another program; try again.")
        _clean(stored.folder)
        old = stored.manifest
        files = {role: entry for role, entry in _named_files(stored).items() if role != MODEL}
        run = old["run"] or run_name(old["kind"], old["seed"], params, files)
        about = old | {"kind": kind, "status": "running", "params": params, "run": run}
        write_manifest(stored.folder, about, files, _plain_names(old, files))
    stored.push()
    return stored.again()


def save_names(stored: Stored, names: Mapping[str, Any] | None) -> None:
    """Put names of topics into the manifest of a finished model; no other file is touched."""
    with _writing(stored.folder):
        if stored.is_replaced():
            raise StorageError(f"{stored.folder} has been saved over or resumed by another program; try again.")
        old = stored.manifest
        files = _named_files(stored)
        run = old["run"] or run_name(old["kind"], old["seed"], old["params"], files)
        write_manifest(stored.folder, old | {"run": run, "names": names}, files, _plain_names(old, files))
    stored.push()


def _named_files(stored: Stored) -> dict[str, dict[str, str]]:
    """All files with their digests, which a manifest of version 1 lacks for some."""
    return {
        role: _entry(entry["file"], entry["digest"] or read_digest(stored.folder / entry["file"]))
        for role, entry in stored.manifest["files"].items()
    }


def finish_run(stored: Stored, n_chains: int, model: Part, names: Mapping[str, Any] | None = None) -> None:
    """Add the finished estimates to a run whose chains are all there."""
    folder = stored.folder
    with _writing(folder):
        now = read_manifest(folder)
        if now["run"] != stored.manifest["run"]:
            raise StorageError(
                f"{folder} has been saved over while this run went on. The model is fitted: save it into another "
                "directory with model.save."
            )
        files = {role: entry for role, entry in now["files"].items() if role != MODEL}
        for index in range(n_chains):
            name = checkpoint_name(index)
            if (read_info(folder / name) or {}).get("run") != now["run"]:
                raise StorageError(f"{folder / name} has been deleted or replaced while this run went on; resume it.")
            files[chain_role(index)] = _entry(name, read_digest(folder / name))
        files[MODEL] = _entry(*write_named(folder, MODEL, *model))
        write_manifest(
            folder, stored.manifest | {"status": "finished", "names": names}, files, _plain_names(now, files)
        )
    stored.push()


def _write_data(folder: Path, parts: Mapping[str, Part]) -> dict[str, dict[str, str]]:
    found = [role for role in (CORPUS, LABELS, TARGETS, NUMBERS) if role in parts]
    return {role: _entry(*write_named(folder, role, *parts[role])) for role in found}


def _entry(name: str, digest: str) -> dict[str, str]:
    return {"file": name, "digest": digest}


def _plain_names(old: Mapping[str, Any] | None, files: Mapping[str, Mapping[str, str]]) -> set[str]:
    """Files with names of version 1 that the old manifest named and the new one does not; checkpoints go anyway."""
    if old is None:
        return set()
    names = {entry["file"] for entry in old["files"].values()} | set(old.get("replaced", []))
    plain = {name for name in names if PLAIN.fullmatch(name) and not CHECKPOINT.fullmatch(name)}
    return plain - {entry["file"] for entry in files.values()}


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Be the only writer; on the way out, whatever happened, delete what the manifest does not name."""
    try:
        _make(folder)
        with _locked(folder):
            try:
                yield
            finally:
                _clean(folder)
    except OSError as error:
        raise cannot_write(folder, error) from error


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except ValueError as error:
        raise InputError(f"{str(folder)!r} cannot be the name of a directory: {error}. Give another.") from None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One writer at a time among all threads, and among processes where the file system has locks."""
    if sys.platform == "win32":
        with _THREADS:
            yield
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX)
            lock: Any = nullcontext()
        except OSError:
            lock = _THREADS
        with lock:
            yield
    finally:
        os.close(opened)  # and the lock goes


def _clean(folder: Path) -> None:
    """Delete what was left behind: files of ours that no manifest names."""
    try:
        manifest = read_manifest(folder) if (folder / MANIFEST).exists() else None
    except StorageError:
        return  # who knows what it named
    if not is_free(folder) if manifest is None else manifest["version"] < VERSION:
        return
    about: dict[str, Any] = manifest or {"files": {}, "status": "none"}
    named = {entry["file"] for entry in about["files"].values()}
    doomed = set(about.get("replaced", [])) - named
    for name in sorted(os.listdir(folder)):
        left = _is_left(name) or (about["status"] == "finished" and CHECKPOINT.fullmatch(name))
        if (left and name not in named) or name in doomed:
            try:
                (folder / name).unlink(missing_ok=True)
            except OSError:  # in use, on some systems; the next save tries again
                continue
    sync_folder(folder)
