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
from pathlib import Path
from typing import Any

import numpy as np

import topicloom
from topicloom._types import AnyArray
from topicloom.arrays import FORMAT, read_arrays, read_digest, write_arrays, write_atomic
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.stored import is_mapped, load_corpus, save_corpus
from topicloom.errors import InputError, StorageError
from topicloom.estimates import Counts
from topicloom.inference import mixtures
from topicloom.inference.chain import Chain, Trace
from topicloom.inference.kernel import Course, Kernel, Prior
from topicloom.inference.state import SAVED_BESIDE_Z, new_assignments, saved_beside_z

VERSION = 1
_MIXTURES, _COURSE = "mixtures_", "course_"  # how arrays of collections' mixtures are named, and of a chain's course
MANIFEST, CORPUS, MODEL = "manifest.json", "corpus.safetensors", "model.safetensors"
PathLike = str | os.PathLike[str]


# -- chains --------------------------------------------------------------------------------------------------------


def chain_path(folder: Path, index: int) -> Path:
    return folder / f"chain-{index}.safetensors"


def save_chain(folder: Path, chain: Chain) -> None:
    """Write a checkpoint: with the corpus and the seed it is all that is needed to go on exactly."""
    arrays: dict[str, AnyArray] = {"z": chain.state.z, **chain.prior._asdict(), **saved_beside_z(chain.state)}
    arrays |= {f"trace_{name}": np.asarray(values) for name, values in asdict(chain.trace).items()}
    if chain.kept is not None:
        assert chain.kept.doc is not None
        assert chain.kept.word is not None
        arrays |= {"kept_doc": chain.kept.doc, "kept_word": chain.kept.word}
        if chain.kept.eta is not None:
            arrays["kept_eta"] = chain.kept.eta
    if chain.mixtures is not None:
        arrays |= {_MIXTURES + name: a for name, a in mixtures.to_arrays(chain.mixtures).items()}
    if chain.course is not None:
        arrays |= {_COURSE + name: a for name, a in chain.course._asdict().items()}
    info = {"index": chain.index, "sweep": chain.sweep, "kept": chain.kept.n_samples if chain.kept else 0}
    write_arrays(chain_path(folder, chain.index), arrays, info)


def load_chain(folder: Path, index: int, corpus: Corpus, kernel: Kernel) -> Chain:
    """Read a checkpoint; counts are rebuilt from z."""
    path = chain_path(folder, index)
    mapped = is_mapped(corpus)
    arrays, info, _ = read_arrays(path, mapped=("z",) if mapped and kernel.n_latent is None else ())
    prior = Prior(**{name: arrays[name] for name in Prior._fields})
    expected = corpus.n_tokens if kernel.n_latent is None else kernel.n_latent
    if len(arrays["z"]) != expected or len(prior.beta) != corpus.n_words:
        what = "tokens" if kernel.n_latent is None else "entries"
        raise StorageError(f"{path} belongs to another corpus: it has {len(arrays['z'])} {what}, this one {expected}.")
    trace = Trace(**{name: arrays[f"trace_{name}"].tolist() for name in asdict(Trace()) if f"trace_{name}" in arrays})
    kept = None
    if info["kept"]:
        kept = Counts(arrays["kept_doc"], arrays["kept_word"], info["kept"], arrays.get("kept_eta"))
    z = arrays["z"]
    if mapped and kernel.n_latent is None:  # the checkpoint stays as it is
        z = new_assignments(corpus, prior.n_topics)
        z[:] = arrays["z"]
    others = {name: arrays[name] for name in SAVED_BESIDE_Z if name in arrays}
    state = kernel.restore(corpus, z, prior.n_topics, **others)

    def own(prefix: str) -> dict[str, AnyArray]:
        return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}

    mixed = mixtures.from_arrays(own(_MIXTURES)) if own(_MIXTURES) else None
    course = Course(**own(_COURSE)) if own(_COURSE) else None
    return Chain(info["index"], info["sweep"], state, prior, trace, kept, mixed, course)


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


def read_corpus(folder: Path, manifest: Mapping[str, Any]) -> Corpus:
    """The corpus of a run, if it is the one that the manifest vouches for."""
    path = folder / CORPUS
    if not path.exists():
        raise StorageError(f"{folder} has no {CORPUS}; it is not complete.")
    corpus = load_corpus(path)
    if manifest["hashes"].get(CORPUS) != read_digest(path):
        raise StorageError(f"{path} does not belong to this directory: its digest differs from the manifest's.")
    return corpus


def load(path: PathLike) -> Any:
    """A fitted model, of the class that was saved, from its directory."""
    from topicloom.models import model_class

    manifest = read_manifest(path)
    return model_class(manifest["kind"])._load(Path(path), manifest)


def resume(
    path: PathLike, *, max_iter: int | None = None, n_jobs: int | None = None, verbose: int | None = None
) -> Any:
    """Go on with a run from its last checkpoint, or with a finished model to a higher ``max_iter``.

    The finished model equals, bit for bit, one that was never interrupted.
    """
    from topicloom.models import model_class

    manifest = read_manifest(path)
    changes = {"max_iter": max_iter, "n_jobs": n_jobs, "verbose": verbose}
    given = {name: value for name, value in changes.items() if value is not None}
    return model_class(manifest["kind"])._resume(Path(path), manifest, given)
