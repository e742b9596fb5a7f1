"""The manifest of a model's directory: what it is, its parameters, and the name and digest of every file.

The manifest has a digest of itself. One of an older version is read as if it were of the present one.
"""

import json
import os
import re
from collections.abc import Collection, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import topicloom
from topicloom.errors import StorageError
from topicloom.files.arrays import FORMAT, replacing_file

VERSION = 2
MANIFEST = "manifest.json"
CORPUS, MODEL, LABELS, TARGETS, NUMBERS = "corpus", "model", "labels", "targets", "numbers"  # roles of files
_ROLE = r"(?:corpus|model|labels|targets|numbers|chain-\d+)"
SAVED = re.compile(rf"{_ROLE}-[0-9a-f]{{12}}\.safetensors")
CHAIN = re.compile(r"chain-\d+(?:\.safetensors)?")
CHECKPOINT = re.compile(r"chain-\d+\.safetensors")
PLAIN = re.compile(rf"{_ROLE}\.safetensors")  # names of version 1
TEMPORARY = re.compile(rf"\.(?:manifest\.json|{_ROLE}(?:-[0-9a-f]{{12}})?\.safetensors)\.\w+\.tmp")
_MAY_CHANGE = {"n_jobs", "verbose", "max_iter", "checkpoint_every", "checkpoint_dir", "random_state"}


def chain_role(index: int) -> str:
    return f"chain-{index}"


def checkpoint_name(index: int) -> str:
    return f"{chain_role(index)}.safetensors"


def run_name(kind: str, seed: int, params: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]) -> str:
    """What tells a run from others: kind, seed, data, and the parameters that resuming cannot change."""
    data = {role: files[role]["digest"] for role in (CORPUS, LABELS, TARGETS, NUMBERS) if role in files}
    fixed = {name: value for name, value in params.items() if name not in _MAY_CHANGE}
    return f"{kind}, seed {seed}, data {_hash(data)[:12]}, parameters {_hash(fixed)[:12]}"


def _hash(value: Any) -> str:
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).hexdigest()


def signed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest with a digest of all else that it has."""
    rest = {name: value for name, value in manifest.items() if name != "digest"}
    return rest | {"digest": _hash(rest)}


def read_manifest(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The manifest of a model or run directory, if it is one that this version understands.

    That of an older version is given in the present form: ``files`` with a name and a digest (None if it is not known)
    for each role.
    """
    path = Path(folder) / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise StorageError(f"{folder} is not a topicloom directory: it has no {MANIFEST}.") from None
    except OSError as error:
        raise StorageError(f"{path} cannot be read ({error.strerror or error}).") from error
    except (ValueError, RecursionError) as error:
        raise StorageError(f"{path} is damaged ({error}); restore it from a copy.") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise StorageError(f"{path} was not written by topicloom.")
    version = manifest.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise StorageError(
            f"{path} has format version {version}; this topicloom reads versions 1 to {VERSION}. Upgrade topicloom."
        )
    _check_types(path, manifest, version)
    return manifest if version == VERSION else _from_version_1(path.parent, manifest)


def _check_types(path: Path, manifest: dict[str, Any], version: int) -> None:
    own = {"hashes": dict} if version == 1 else {"files": dict, "run": str, "digest": str}
    types: dict[str, type] = {"kind": str, "status": str, "seed": int, "params": dict, **own}
    missing = types.keys() - manifest.keys()
    if missing:
        raise StorageError(f"{path} is damaged: it lacks {', '.join(sorted(missing))}.")
    if version > 1 and manifest["digest"] != signed(manifest)["digest"]:
        raise StorageError(f"{path} is damaged: its content does not match its digest. Restore it from a copy.")

    def check(right: bool, name: str, expected: str) -> None:
        if not right:
            raise StorageError(f"{path} is damaged: {name} is not {expected}. Restore it from a copy.")

    for name, expected in types.items():
        check(type(manifest[name]) is expected, name, f"of type {expected.__name__}")
    check(manifest["status"] in ("running", "finished"), "status", '"running" or "finished"')
    check(manifest["seed"].bit_length() <= 64, "seed", "a whole number of 64 bits")
    if version == 1:
        right = all(PLAIN.fullmatch(name) and isinstance(value, str) for name, value in manifest["hashes"].items())
        check(right, "hashes", "a digest for each file of this directory")
        return
    for role, entry in manifest["files"].items():
        right = isinstance(entry, dict) and entry.keys() == {"file", "digest"}
        check(
            right and all(isinstance(value, str) for value in entry.values()), f"files.{role}", "a file and its digest"
        )
        name = entry["file"]
        check(bool(SAVED.fullmatch(name) or PLAIN.fullmatch(name)), f"files.{role}", "a file of this directory")
    names = manifest.get("names", {"chain": 0, "topics": []})
    right = isinstance(names, dict) and names.keys() == {"chain", "topics"} and isinstance(names["topics"], list)
    right = right and type(names["chain"]) is int and all(name is None or type(name) is str for name in names["topics"])
    check(right, "names", "a chain and the names of its topics")
    replaced = manifest.get("replaced", [])
    check(
        isinstance(replaced, list) and all(isinstance(name, str) and PLAIN.fullmatch(name) for name in replaced),
        "replaced",
        "a list of files of this directory",
    )


def _from_version_1(folder: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Files had fixed names, and only those of corpus and model a digest in the manifest."""
    hashes = manifest["hashes"]
    names = {path.name for path in folder.iterdir() if PLAIN.fullmatch(path.name)} | hashes.keys()
    files = {Path(name).stem: {"file": name, "digest": hashes.get(name)} for name in sorted(names)}
    return {name: value for name, value in manifest.items() if name != "hashes"} | {"files": files, "run": None}


def write_manifest(
    folder: Path, about: Mapping[str, Any], files: Mapping[str, Any], replaced: Collection[str] = ()
) -> None:
    """Put a manifest in place, by one rename. ``replaced`` are files of version 1 that are yet to be deleted."""
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "topicloom": topicloom.__version__,
        **{name: about[name] for name in ("kind", "status", "seed", "run", "params")},
        "files": dict(files),
    }
    if about.get("names") is not None:
        manifest["names"] = about["names"]
    if replaced:
        manifest["replaced"] = sorted(replaced)
    text = json.dumps(signed(manifest), indent=2) + "\n"
    with replacing_file(folder / MANIFEST) as file:
        file.write(text.encode())
