"""The one way a chain is written and read, and what its file must hold.

A checkpoint has trace, kept samples and what the sampler says it needs (``to_arrays``). With the corpus and the seed it
is all that is needed to go on exactly. What is read is checked before anything is computed with it.
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from topicloom._types import AnyArray
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.stored import corpus_part, is_mapped, load_corpus
from topicloom.engine import draws
from topicloom.engine.checks import check_sweep
from topicloom.engine.probes import probes_of
from topicloom.engine.run import Chain, Plan, Trace
from topicloom.engine.sampler import Sampler, ShardProgress
from topicloom.engine.state import new_assignments
from topicloom.files.checks import Contents, Expected
from topicloom.files.directories import Part, Stored
from topicloom.files.directories import start_run as start_directory
from topicloom.files.manifests import CORPUS

_SHARDS = "course_"  # how arrays of a chain's shards are named
_SHARD_ARRAYS = {"sampler": "way", "docs": "docs", "words": "words", "unseen": "unseen"}  # by field, names in files
_OF_PROCESS = ("n_topics", "n_main", "topic_concentration")
_LEFT_OUT = (  # of a trace, where there are none
    "log_likelihood", "probes", "topic_sizes", *_OF_PROCESS, "tokens", "words", "score",
)  # fmt: skip
_CHUNK = 1 << 20  # tokens looked at together


def start_run(
    folder: str | Path,
    corpus: Corpus,
    kind: str,
    params: Mapping[str, Any],
    seed: int,
    beside: Mapping[str, Part] | None = None,
) -> Stored:
    """Prepare a directory for checkpoints, with the corpus and what stands ``beside`` it."""
    return start_directory(folder, kind, params, seed, {CORPUS: corpus_part(corpus), **(beside or {})})


def read_corpus(stored: Stored) -> Corpus:
    """The corpus, if it is the one that the manifest names."""
    with stored.opening(CORPUS) as (path, digest):
        corpus = load_corpus(path, digest=digest)
    if stored.remote is not None and (is_mapped(corpus) or corpus.texts is not None):
        stored.remote.keep()
    return corpus


def save_chain(run: Stored, sampler: Sampler, chain: Chain) -> None:
    """Write a checkpoint."""
    run.save_chain(chain.index, chain_part(sampler, chain))


def chain_part(sampler: Sampler, chain: Chain) -> Part:
    """A chain as arrays and info."""
    arrays = sampler.to_arrays(chain)
    arrays |= trace_arrays(chain.trace, "trace_")
    if chain.kept is not None:
        arrays |= {f"kept_{name}": a for name, a in chain.kept.to_arrays().items()}
    if chain.shard_progress is not None:
        shards = chain.shard_progress._asdict()
        arrays |= {_SHARDS + in_file: shards[name] for name, in_file in _SHARD_ARRAYS.items()}
    drawn, shapes = draws.to_arrays(chain.draws)
    n_kept = chain.kept.n_samples if chain.kept is not None else 0
    info = {"index": chain.index, "sweep": chain.sweep, "kept": n_kept, "converged": chain.converged}
    return arrays | drawn, info | shapes


def load_chain(
    stored: Stored, index: int, corpus: Corpus | None, sampler: Sampler, plan: Plan | None = None, **sizes: int | None
) -> Chain:  # fmt: skip
    """Read a checkpoint. ``sizes`` are those that the model knows, as K topics or V words; a stream has no corpus."""
    in_file = sampler.by_token and corpus is not None and is_mapped(corpus)
    path, arrays, info = stored.read_chain(index, mapped=("z",) if in_file else ())
    if corpus is not None:
        sizes = {"D": corpus.n_docs, "V": corpus.n_words, "N": corpus.n_tokens, **sizes}
    file = Contents(path, arrays, info, **sizes)
    check_sweep(file, index, sampler.recorded, converges=sampler.converges)
    sampler.check(file, corpus, index)
    has_shards = any(name.startswith(_SHARDS) for name in arrays)
    if has_shards:
        assert corpus is not None
        _check_shards(file, corpus, sampler)
    wanted = None if plan is None else plan.draws
    draws.check_arrays(file, wanted)
    file.expect_no_others()
    if in_file:  # the checkpoint stays as it is
        assert corpus is not None
        z = new_assignments(corpus, file.sizes["K"])
        z[:] = arrays["z"]
        arrays = {**arrays, "z": z}
    state, prior, extra = sampler.from_arrays(sampler, corpus, arrays)
    if corpus is not None:
        _check_recorded(file, corpus, sampler, state, extra)
    trace = load_trace({name: a for name, a in arrays.items() if name.startswith("trace_")}, "trace_")
    kept = sampler.kept_from(_without("kept_", arrays), info["kept"]) if info.get("kept") else None
    shards = {name: arrays[_SHARDS + in_file] for name, in_file in _SHARD_ARRAYS.items()} if has_shards else None
    progress = None if shards is None else ShardProgress(**shards)
    converged = info.get("converged", False)
    shapes = sampler.draw_shapes(corpus, prior, plan.n_paths) if plan is not None and wanted is not None else {}
    own = draws.from_arrays(file, wanted, shapes)
    return Chain(info["index"], info["sweep"], state, prior, trace, kept, extra, progress, converged, own)


def _without(prefix: str, arrays: dict[str, AnyArray]) -> dict[str, AnyArray]:
    """The arrays that have a prefix, by the rest of their names."""
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}


def trace_arrays(trace: Trace, prefix: str) -> dict[str, AnyArray]:
    """A trace as arrays; what few chains record is left out if nothing was recorded."""
    return {
        prefix + name: np.asarray(values) for name, values in vars(trace).items() if values or name not in _LEFT_OUT
    }


def load_trace(arrays: dict[str, AnyArray], prefix: str) -> Trace:
    """A trace; what files of earlier versions lack is empty."""
    found = {name: arrays[prefix + name] for name in asdict(Trace()) if prefix + name in arrays}
    return Trace(**{name: a.tolist() if a.ndim == 1 else list(a) for name, a in found.items()})


def _check_recorded(file: Contents, corpus: Corpus, sampler: Sampler, state: Any, extra: Any) -> None:
    """Whether records have as many numbers as the chain will go on to record."""
    probes, sizes = (file.arrays.get(f"trace_{name}") for name in ("probes", "topic_sizes"))
    if sizes is not None and (
        sizes.shape[1] != sampler.n_topics(state) or (len(sizes) and sizes[0].sum() != state.z.size)
    ):
        file.fail("the array 'trace_topic_sizes' is not of the chain's topics and tokens")
    if probes is not None:
        n = len(probes_of(corpus).names) + sampler.more_probes(corpus, state, extra)
        if probes.shape[1] != n:
            file.fail(f"the array 'trace_probes' has {probes.shape[1]} numbers per record, expected {n}")


# -- sweeps in blocks -----------------------------------------------------------------------------------------------


def _check_shards(file: Contents, corpus: Corpus, sampler: Sampler) -> None:
    """Blocks that cover documents and words once, and moves that the counts allow."""
    numbers = sampler.block_samplers
    progress = {
        "way": Expected("i8", (1,), low=min(numbers, default=1), high=max(numbers, default=0)),
        "docs": Expected("i8", ("shards", "pieces", 2), low=0, high=corpus.n_docs),
        "words": Expected("i8", ("parts", 2), low=0, high=corpus.n_words),
        "unseen": Expected("i8", ("parts", "delay", "K"), low=-corpus.n_tokens, high=corpus.n_tokens),
    }
    file.expect(progress, _SHARDS)
    sizes, arrays = file.sizes, file.arrays
    if sizes["delay"] != max(1, sizes["pieces"] // 2) or sizes["shards"] < sizes["parts"]:
        file.fail("the arrays 'course_docs' and 'course_unseen' do not fit each other")
    for name, size in (("course_docs", corpus.n_docs), ("course_words", corpus.n_words)):
        parts = arrays[name].reshape(-1, 2)
        parts = parts[parts[:, 0] != parts[:, 1]]
        edges = np.append(parts[:, 0], size)
        if (
            len(parts) == 0
            or edges[0] != 0
            or np.any(np.diff(edges) <= 0)
            or not np.array_equal(edges[1:], parts[:, 1])
        ):
            file.fail(f"the parts of the array {name!r} do not cover everything once")
    counted = _counts_by_part(corpus, arrays["z"], arrays["course_words"], sizes["K"])
    unseen = arrays["course_unseen"]
    before = counted[:, None] - np.cumsum(unseen[:, ::-1], axis=1)  # before the last step, the last two, …
    if np.any(unseen.sum(axis=2) != 0) or np.any(before < 0):
        file.fail("the array 'course_unseen' has moves that its counts do not allow")


def _counts_by_part(corpus: Corpus, z: AnyArray, words: AnyArray, n_topics: int) -> AnyArray:
    """Tokens [parts, K] of each part of the words in each topic."""
    part_of = np.repeat(np.arange(len(words)), words[:, 1] - words[:, 0])
    out = np.zeros(len(words) * n_topics, np.int64)
    for start in range(0, len(z), _CHUNK):
        part = part_of[corpus.words[start : start + _CHUNK]]
        out += np.bincount(part * n_topics + z[start : start + _CHUNK], minlength=len(out))
    return out.reshape(len(words), n_topics)
