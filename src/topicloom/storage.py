"""Files: a directory with a JSON manifest and safetensors arrays. Atomic, versioned, hashed, never pickle.

    manifest.json        what this is, parameters, hashes of the files that do not change while a chain runs
    corpus.safetensors   tokens, vocabulary and metadata, so that a run can go on from the directory alone
    chain-0.safetensors  one a chain: z, priors, trace, kept samples; replaced as a whole at every checkpoint
    model.safetensors    the finished estimates

A directory whose manifest says "running" is a run that has not finished; ``resume`` takes it up at its last checkpoint.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

import topicloom
from topicloom._types import AnyArray
from topicloom.corpus.corpus import Corpus, TextOptions
from topicloom.errors import InputError, StorageError
from topicloom.estimates import Counts
from topicloom.inference.chain import Chain, Trace
from topicloom.inference.kernel import Prior, rebuild_counts

if TYPE_CHECKING:
    from topicloom.models.lda import LDA

FORMAT, VERSION = "topicloom", 1
MANIFEST, CORPUS, MODEL = "manifest.json", "corpus.safetensors", "model.safetensors"
PathLike = str | os.PathLike[str]


# -- bytes on disk -------------------------------------------------------------------------------------------------


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


# -- corpus --------------------------------------------------------------------------------------------------------


def save_corpus(corpus: Corpus, path: Path) -> str:
    """Write a corpus as one file; returns its digest."""
    arrays: dict[str, AnyArray] = {
        "words": corpus.words,
        "doc_ptr": corpus.doc_ptr,
        "vocabulary": to_bytes(corpus.vocabulary),
    }
    info: dict[str, Any] = {"ordered": corpus.ordered, "text_options": corpus.text_options}
    for name in ("weights", "responses", "unknown"):
        if getattr(corpus, name) is not None:
            arrays[name] = getattr(corpus, name)
    for name in ("ids", "labels", "groups"):
        if getattr(corpus, name) is not None:
            arrays[name] = to_bytes(_plain(name, getattr(corpus, name)))
    if corpus.times is not None:
        if corpus.times.dtype.kind == "M":
            info["times"] = corpus.times.dtype.str
            arrays["times"] = corpus.times.view(np.int64)
        elif corpus.times.dtype.kind in "iuf":
            arrays["times"] = corpus.times
        else:
            arrays["times_text"] = to_bytes(_plain("times", corpus.times.tolist()))
    return write_arrays(path, arrays, info)


def load_corpus(path: Path) -> Corpus:
    """Read a corpus written by ``save_corpus``."""
    arrays, info, _ = read_arrays(path)
    fields: dict[str, Any] = {name: arrays[name] for name in ("words", "doc_ptr")}
    for name in ("weights", "responses", "unknown"):
        fields[name] = arrays.get(name)
    for name in ("vocabulary", "ids", "labels", "groups"):
        fields[name] = tuple(from_bytes(arrays[name])) if name in arrays else None
    times = arrays.get("times")
    if times is not None and "times" in info:
        times = times.view(info["times"])
    if "times_text" in arrays:
        times = np.array(from_bytes(arrays["times_text"]))
    options = info["text_options"]
    return Corpus(
        **fields,
        times=times,
        ordered=info["ordered"],
        text_options=None if options is None else TextOptions(*options),
    )


def _plain(name: str, values: Any) -> Any:
    """The values, if JSON gives them back as they are."""
    for d, value in enumerate(values):
        parts = value if isinstance(value, tuple) and name == "labels" else (value,)
        if not all(part is None or isinstance(part, str | bool | int | float) for part in parts):
            raise InputError(
                f"document {d}: the {name} entry {value!r} is a {type(value).__name__}, which cannot be saved; "
                "use text or numbers (for instance str(value))."
            )
    return values


# -- chains --------------------------------------------------------------------------------------------------------


def chain_path(folder: Path, index: int) -> Path:
    return folder / f"chain-{index}.safetensors"


def save_chain(folder: Path, chain: Chain) -> None:
    """Write a checkpoint: with the corpus and the seed it is all that is needed to go on exactly."""
    arrays: dict[str, AnyArray] = {"z": chain.state.z, **chain.prior._asdict()}
    arrays |= {f"trace_{name}": np.asarray(values) for name, values in asdict(chain.trace).items()}
    if chain.kept is not None:
        assert chain.kept.doc is not None
        assert chain.kept.word is not None
        arrays |= {"kept_doc": chain.kept.doc, "kept_word": chain.kept.word}
    info = {"index": chain.index, "sweep": chain.sweep, "kept": chain.kept.n_samples if chain.kept else 0}
    write_arrays(chain_path(folder, chain.index), arrays, info)


def load_chain(folder: Path, index: int, corpus: Corpus) -> Chain:
    """Read a checkpoint; counts are rebuilt from z."""
    path = chain_path(folder, index)
    arrays, info, _ = read_arrays(path)
    prior = Prior(**{name: arrays[name] for name in Prior._fields})
    if len(arrays["z"]) != corpus.n_tokens or len(prior.beta) != corpus.n_words:
        raise StorageError(
            f"{path} belongs to another corpus: it has {len(arrays['z'])} tokens, this one {corpus.n_tokens}."
        )
    trace = Trace(**{name: arrays[f"trace_{name}"].tolist() for name in asdict(Trace())})
    kept = Counts(arrays["kept_doc"], arrays["kept_word"], info["kept"]) if info["kept"] else None
    return Chain(info["index"], info["sweep"], rebuild_counts(corpus, arrays["z"], prior.n_topics), prior, trace, kept)


# -- whole directories ---------------------------------------------------------------------------------------------


def start_run(folder: Path, corpus: Corpus, kind: str, params: Mapping[str, Any], seed: int) -> Callable[[Chain], None]:
    """Prepare a directory for checkpoints; returns the function that writes one."""
    if folder.exists() and any(folder.iterdir()):
        raise InputError(
            f"{folder} is not empty. Continue the run in it with topicloom.resume({str(folder)!r}), "
            "or give another directory."
        )
    folder.mkdir(parents=True, exist_ok=True)
    hashes = {CORPUS: save_corpus(corpus, folder / CORPUS)}
    write_manifest(folder, kind, params, seed, "running", hashes)
    return lambda chain: save_chain(folder, chain)


def write_manifest(
    folder: Path, kind: str, params: Mapping[str, Any], seed: int, status: str, hashes: Mapping[str, str]
) -> None:
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "topicloom": topicloom.__version__,
        "kind": kind,
        "status": status,
        "seed": seed,
        "params": dict(params),
        "hashes": dict(hashes),
    }
    text = json.dumps(manifest, indent=2) + "\n"
    write_atomic(folder / MANIFEST, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def read_manifest(folder: PathLike) -> dict[str, Any]:
    """The manifest of a model or run directory, if it is one that this version understands."""
    path = Path(folder) / MANIFEST
    if not path.exists():
        raise StorageError(f"{folder} is not a topicloom directory: it has no {MANIFEST}.")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise StorageError(f"{path} is damaged ({error}); restore it from a copy.") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise StorageError(f"{path} was not written by topicloom.")
    if manifest.get("version") not in range(1, VERSION + 1):
        raise StorageError(
            f"{path} has format version {manifest.get('version')}; this topicloom reads versions 1 to "
            f"{VERSION}. Upgrade topicloom."
        )
    missing = {"kind", "status", "seed", "params", "hashes"} - manifest.keys()
    if missing:
        raise StorageError(f"{path} is damaged: it lacks {', '.join(sorted(missing))}.")
    return manifest


def read_hashed(folder: Path, name: str, manifest: Mapping[str, Any]) -> tuple[dict[str, AnyArray], Any]:
    """Arrays of a file that the manifest vouches for."""
    path = folder / name
    if not path.exists():
        raise StorageError(f"{folder} has no {name}; it is not complete.")
    arrays, info, digest = read_arrays(path)
    if manifest["hashes"].get(name) != digest:
        raise StorageError(f"{path} does not belong to this directory: its digest differs from the manifest's.")
    return arrays, info


def load(path: PathLike) -> "LDA":
    """A fitted model from its directory."""
    from topicloom.models import model_class

    manifest = read_manifest(path)
    return model_class(manifest["kind"])._load(Path(path), manifest)


def resume(
    path: PathLike, *, max_iter: int | None = None, n_jobs: int | None = None, verbose: int | None = None
) -> "LDA":
    """Go on with a run from its last checkpoint, or with a finished model to a higher ``max_iter``.

    The finished model equals, bit for bit, one that was never interrupted.
    """
    from topicloom.models import model_class

    manifest = read_manifest(path)
    changes = {"max_iter": max_iter, "n_jobs": n_jobs, "verbose": verbose}
    given = {name: value for name, value in changes.items() if value is not None}
    return model_class(manifest["kind"])._resume(Path(path), manifest, given)
