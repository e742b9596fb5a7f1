"""Fitted models and runs as files: chains as arrays, and ``load`` and ``resume``.

What a directory looks like, and how it is written so that a kill at any moment leaves a whole one, is in
``directories``. A directory whose manifest says "running" is a run that has not finished; ``resume`` takes it up at its
last checkpoint.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from topicloom._types import AnyArray
from topicloom.arrays import as_path
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.stored import corpus_part, is_mapped, load_corpus
from topicloom.directories import Part, Stored, opened
from topicloom.directories import start_run as start_directory
from topicloom.estimates import Counts
from topicloom.inference import mixtures
from topicloom.inference.chain import Chain, Trace
from topicloom.inference.checkpoints import Belonging, check_chain, check_state
from topicloom.inference.kernel import Course, Kernel, Prior
from topicloom.inference.state import SAVED_BESIDE_Z, new_assignments, saved_beside_z
from topicloom.manifests import CORPUS

_MIXTURES, _COURSE = "mixtures_", "course_"  # how arrays of collections' mixtures are named, and of a chain's course
PathLike = str | os.PathLike[str]


# -- chains --------------------------------------------------------------------------------------------------------


def save_chain(run: Stored, chain: Chain) -> None:
    """Write a checkpoint: with the corpus and the seed it is all that is needed to go on exactly."""
    run.save_chain(chain.index, chain_part(chain))


def chain_part(chain: Chain) -> Part:
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
    return arrays, {"index": chain.index, "sweep": chain.sweep, "kept": chain.kept.n_samples if chain.kept else 0}


def load_chain(stored: Stored, index: int, corpus: Corpus, kernel: Kernel, of: Belonging = Belonging()) -> Chain:  # noqa: B008 (it cannot change)
    """Read a checkpoint of a model's chain; counts are rebuilt from z."""
    mapped = is_mapped(corpus)
    path, arrays, info = stored.read_chain(index, mapped=("z",) if mapped and kernel.n_latent is None else ())
    check_chain(path, arrays, info, index, corpus, kernel, of)
    prior = Prior(**{name: arrays[name] for name in Prior._fields})
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
    check_state(path, corpus, state, arrays)

    def own(prefix: str) -> dict[str, AnyArray]:
        return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}

    mixed = mixtures.from_arrays(own(_MIXTURES)) if own(_MIXTURES) else None
    course = Course(**own(_COURSE)) if own(_COURSE) else None
    return Chain(info["index"], info["sweep"], state, prior, trace, kept, mixed, course)


# -- whole directories ---------------------------------------------------------------------------------------------


def start_run(
    folder: PathLike,
    corpus: Corpus,
    kind: str,
    params: Mapping[str, Any],
    seed: int,
    beside: Mapping[str, Part] | None = None,
) -> Stored:
    """Prepare a directory for checkpoints, with the corpus and what stands ``beside`` it."""
    return start_directory(as_path(folder), kind, params, seed, {CORPUS: corpus_part(corpus), **(beside or {})})


def read_corpus(stored: Stored) -> Corpus:
    """The corpus, if it is the one that the manifest names."""
    with stored.opening(CORPUS) as (path, digest):
        return load_corpus(path, digest=digest)


def load(path: PathLike) -> Any:
    """A fitted model, of the class that was saved, from its directory."""
    from topicloom.models import model_class

    return opened(path, lambda stored: model_class(stored.manifest["kind"])._load(stored))


def resume(
    path: PathLike, *, max_iter: int | None = None, n_jobs: int | None = None, verbose: int | None = None
) -> Any:
    """Go on with a run from its last checkpoint, or with a finished model to a higher ``max_iter``.

    The finished model equals, bit for bit, one that was never interrupted.
    """
    from topicloom.models import model_class

    stored = Stored.open(path)
    changes = {"max_iter": max_iter, "n_jobs": n_jobs, "verbose": verbose}
    given = {name: value for name, value in changes.items() if value is not None}
    return model_class(stored.manifest["kind"])._resume(stored, given)
