"""Arrays and JSON on disk: safetensors files with a digest, written atomically, never pickle.

An array may stay in its file and be used through a memory map: its pages are read when they are needed and given up
when memory is short, so that it may be larger than memory.
"""

import errno
import json
import os
import secrets
import stat
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from safetensors import SafetensorError, safe_open

from topicloom._types import AnyArray
from topicloom.errors import InputError, StorageError

FORMAT = "topicloom"
_DTYPES = {
    "F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
_NAMES = {name: kind for kind, name in _DTYPES.items()}


class InPieces(Protocol):
    """A vector that lies elsewhere and may be larger than memory: it is written to a file piece by piece."""

    dtype: np.dtype[Any]

    def __len__(self) -> int: ...

    def pieces(self) -> Iterator[AnyArray]:
        """All of it, in order."""


def as_path(path: Any) -> Path:
    try:
        return Path(path)
    except TypeError:
        raise InputError(f"a path must be a string or a path object, not {type(path).__name__}.") from None


@contextmanager
def replacing_file(path: Path) -> Iterator[BinaryIO]:
    """A file to fill that takes the path's place when it is complete: at any moment the old or the new one is there.

    A new file has the permissions that the umask gives; one that takes another's place has those of the other, as if
    the other had been written to. If it cannot be written, the old one stays as it was.
    """
    temporary = temporary_name(path)
    try:
        try:
            with temporary.open("xb") as file:  # the system applies the umask, which no thread can then change
                _keep_permissions(path, file.fileno())
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error


def _keep_permissions(path: Path, opened: int) -> None:
    """Give an open file the permissions of a regular file that it is to replace, where the system can."""
    if not hasattr(os, "fchmod"):
        return
    with suppress(OSError):  # there is none
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            os.fchmod(opened, mode & 0o777)


def temporary_name(path: Path) -> Path:
    """A hidden name beside ``path`` that no other thread, process or machine uses."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")


def sync_folder(folder: Path) -> None:
    """Make renames and deletions in a folder durable, where the file system can: they are done, whatever it says."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def cannot_write(path: Path, error: OSError) -> StorageError:
    """What to raise where the system refuses to write a file."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    why = "the disk is full" if full else error.strerror or str(error)
    remedy = "Make room and try again" if full else "Give a place that can be written to, and try again"
    return StorageError(f"{path} cannot be written: {why}. {remedy}; what was there before has not been changed.")


def write_arrays(path: Path, arrays: Mapping[str, AnyArray | InPieces], info: Mapping[str, Any]) -> str:
    """Write arrays with a JSON-able ``info`` and a digest of both; returns the digest."""
    if any(hasattr(array, "pieces") for array in arrays.values()):
        return _write_pieces(path, arrays, info)
    return _write(lambda digest: path, arrays, info)[1]


def write_named(folder: Path, stem: str, arrays: Mapping[str, AnyArray], info: Mapping[str, Any]) -> tuple[str, str]:
    """The same, in a file that is named ``stem`` and the first digits of its digest; returns name and digest."""
    path, digest = _write(lambda digest: folder / f"{stem}-{digest[:12]}.safetensors", arrays, info)
    return path.name, digest


def _write(place: Callable[[str], Path], arrays: Mapping[str, Any], info: Mapping[str, Any]) -> tuple[Path, str]:
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    text = json.dumps(info, sort_keys=True)
    digest = _digest(plain, text)
    head, starts = _head({name: (a.dtype, a.shape) for name, a in plain.items()}, text, digest)
    path = place(digest)
    with replacing_file(path) as file:
        file.write(head)
        for name in starts:
            _write_array(file, plain[name])
    return path, digest


def _write_pieces(path: Path, arrays: Mapping[str, Any], info: Mapping[str, Any]) -> str:
    """The same file, of which some arrays are never in memory as a whole: the digest is known when all is written."""
    forms: dict[str, tuple[Any, tuple[int, ...]]] = {}
    for name, array in arrays.items():
        forms[name] = array.dtype, (len(array),) if hasattr(array, "pieces") else array.shape
    text = json.dumps(info, sort_keys=True)
    found = blake2b(text.encode(), digest_size=16)
    head, starts = _head(forms, text, "0" * 2 * found.digest_size)
    with replacing_file(path) as file:
        for name in sorted(arrays):
            file.seek(len(head) + starts[name])
            found.update(_about(name, *forms[name]))
            for piece in arrays[name].pieces() if hasattr(arrays[name], "pieces") else [arrays[name]]:
                plain = np.ascontiguousarray(piece)
                found.update(plain.data if plain.size else b"")
                _write_array(file, plain)
        file.seek(0)
        file.write(_head(forms, text, found.hexdigest())[0])
    return found.hexdigest()


def _write_array(file: BinaryIO, array: AnyArray) -> None:
    if array.size:
        file.write(array.astype(array.dtype.newbyteorder("<"), copy=False).data.cast("B"))


def _head(
    forms: Mapping[str, tuple[Any, tuple[int, ...]]], text: str, digest: str
) -> tuple[bytes, dict[str, int]]:  # fmt: skip
    """How a file with arrays of these types and shapes begins, and where each starts after that, in their order."""
    header: dict[str, Any] = {"__metadata__": {"format": FORMAT, "info": text, "digest": digest}}
    starts, start = {}, 0
    # Wide types first: then every array is aligned in the file.
    for name in sorted(forms, key=lambda name: (-forms[name][0].itemsize, name)):
        dtype, shape = forms[name]
        end = start + dtype.itemsize * prod(shape)
        header[name] = {
            "dtype": _NAMES[dtype.newbyteorder("<").str], "shape": shape, "data_offsets": [start, end]
        }  # fmt: skip
        starts[name], start = start, end
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    return len(head).to_bytes(8, "little") + head, starts


def read_arrays(
    path: Path, *, mapped: Collection[str] = (), verify: bool = True, only: Collection[str] | None = None
) -> tuple[dict[str, AnyArray], Any, str]:
    """Arrays, ``info`` and digest of a file of ours; anything else is refused.

    Arrays named in ``mapped`` are read-only views of the file. ``verify=False`` trusts the content, which is then not
    read here; ``only`` then names the arrays that are wanted.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            arrays = {
                name: _map(path, name) if name in mapped else file.get_tensor(name)
                for name in file.keys()  # noqa: SIM118 (not a mapping)
                if only is None or name in only
            }
    except (SafetensorError, OSError, ValueError) as error:
        raise StorageError(f"{path} cannot be read as topicloom arrays ({error}); restore it from a copy.") from error
    if header.get("format") != FORMAT:
        raise StorageError(f"{path} was not written by topicloom.")
    if verify and header.get("digest") != _digest(arrays, header.get("info", "")):
        raise StorageError(f"{path} is damaged: its content does not match its digest. Restore it from a copy.")
    return arrays, json.loads(header["info"]), header["digest"]


def check_digest(path: Path, digest: str, expected: str | None) -> None:
    """Refuse a file whose digest is not the one that its manifest gives, if it gives one."""
    if expected is not None and digest != expected:
        raise StorageError(f"{path} does not belong to this directory: its digest differs from the manifest's.")


def read_digest(path: Path) -> str:
    """The digest that a file of ours carries; empty if it cannot be read."""
    try:
        with safe_open(path, framework="numpy") as file:
            return str((file.metadata() or {}).get("digest", ""))
    except (SafetensorError, OSError):
        return ""


def read_info(path: Path) -> Any:
    """The ``info`` that a file of ours carries, unchecked; None if it has none."""
    try:
        with safe_open(path, framework="numpy") as file:
            return json.loads((file.metadata() or {}).get("info", "null"))
    except (SafetensorError, OSError, ValueError):
        return None


# -- memory maps -------------------------------------------------------------------------------------------------


def _map(path: Path, name: str) -> AnyArray:
    """A read-only view of one array of a safetensors file whose header has been checked."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        about = json.loads(file.read(size))[name]
    dtype, shape = np.dtype(_DTYPES[about["dtype"]]), tuple(about["shape"])
    if 0 in shape:
        return np.empty(shape, dtype)
    # A plain array over the map: Numba has one form of it, and views of it are no maps of their own.
    return np.memmap(path, dtype, "r", 8 + size + about["data_offsets"][0], shape).view(np.ndarray)


def file_of(array: AnyArray) -> Path | None:
    """The file that an array is a view of, None if it is in memory."""
    base: Any = array
    while base is not None:
        if isinstance(base, np.memmap):
            return None if base.filename is None else Path(base.filename)
        base = getattr(base, "base", None)
    return None


def array_in_file(folder: Path, size: int, dtype: Any) -> AnyArray:
    """A vector to write to that lies in a file of the folder. The file has no name and goes when the vector does."""
    if size == 0:
        return np.empty(0, dtype)
    n_bytes = size * np.dtype(dtype).itemsize
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            if hasattr(os, "posix_fallocate"):  # or a full disk would kill the process at some later write
                os.posix_fallocate(file.fileno(), 0, n_bytes)
            mapped = np.memmap(file, dtype, "w+", shape=(size,))
            mapped.filename = str(folder / "nameless")  # for ``file_of``: what belongs to it goes to the same folder
            return mapped.view(np.ndarray)
    except OSError as error:
        why = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise StorageError(
            f"{folder}: a file of {n_bytes / 1e9:.2f} GB for a memory map cannot be made there ({why}). "
            "Make room, or put the corpus's file into another folder."
        ) from error


def _digest(arrays: Mapping[str, AnyArray], text: str) -> str:
    digest = blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(_about(name, array.dtype, array.shape))
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()


def _about(name: str, dtype: Any, shape: tuple[int, ...]) -> bytes:
    return f"{name} {dtype.str} {shape}".encode()


def to_bytes(value: Any) -> AnyArray:
    """JSON as an array of bytes: strings of any number, outside the header's size limit."""
    return np.frombuffer(json.dumps(value, ensure_ascii=False).encode(), np.uint8)


def from_bytes(array: AnyArray) -> Any:
    return json.loads(array.tobytes().decode())
