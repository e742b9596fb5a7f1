"""Arrays and JSON on disk: safetensors files with a digest, written atomically, never pickle."""

import json
import os
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from topicloom._types import AnyArray
from topicloom.errors import StorageError

FORMAT = "topicloom"


def write_atomic(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` make a file so that at any moment the old or the new one is there, whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    if hasattr(os, "O_DIRECTORY"):  # make the rename itself durable
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_arrays(path: Path, arrays: Mapping[str, AnyArray], info: Mapping[str, Any]) -> str:
    """Write arrays with a JSON-able ``info`` and a digest of both; returns the digest."""
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    text = json.dumps(info, sort_keys=True)
    digest = _digest(plain, text)
    header = {"format": FORMAT, "info": text, "digest": digest}
    write_atomic(path, lambda temporary: save_file(plain, temporary, header))
    return digest


def read_arrays(path: Path) -> tuple[dict[str, AnyArray], Any, str]:
    """Arrays, ``info`` and digest of a file of ours; anything else is refused."""
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (SafetensorError, OSError, ValueError) as error:
        raise StorageError(f"{path} cannot be read as topicloom arrays ({error}); restore it from a copy.") from error
    if header.get("format") != FORMAT:
        raise StorageError(f"{path} was not written by topicloom.")
    if header.get("digest") != _digest(arrays, header.get("info", "")):
        raise StorageError(f"{path} is damaged: its content does not match its digest. Restore it from a copy.")
    return arrays, json.loads(header["info"]), header["digest"]


def read_digest(path: Path) -> str:
    """The digest that a file of ours carries."""
    with safe_open(path, framework="numpy") as file:
        return str((file.metadata() or {})["digest"])


def _digest(arrays: Mapping[str, AnyArray], text: str) -> str:
    digest = blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()


def to_bytes(value: Any) -> AnyArray:
    """JSON as an array of bytes: strings of any number, outside the header's size limit."""
    return np.frombuffer(json.dumps(value, ensure_ascii=False).encode(), np.uint8)


def from_bytes(array: AnyArray) -> Any:
    return json.loads(array.tobytes().decode())
