"""What the files of chains must hold, given the corpus and the model that they belong to."""

from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, Int32Array
from topicloom.corpus.corpus import Corpus
from topicloom.inference.kernel import Kernel
from topicloom.inference.samplers import _WAYS
from topicloom.inference.state import AnyState, LabeledState, SoftLabeledState, topic_dtype
from topicloom.stored_checks import Contents, Expected

_CHUNK = 1 << 20  # tokens looked at together
_LARGEST_PRIOR = 1e15  # all parameters of a document or word together; models take 1e12 for each
_ROUNDING = 1e-3  # by which sums of very many or of single-precision numbers may be off

# Priors, as ``kernel.Prior``.
_PRIOR = {
    "alpha": Expected("f8", ("R", "K"), high=_LARGEST_PRIOR, positive=True),
    "alpha_row": Expected("i4", ("D",), low=0),
    "beta": Expected("f8", ("V",), high=_LARGEST_PRIOR, positive=True),
    "beta_sum": Expected("f8", ("K",), positive=True),
    "boost_row": Expected("i4", ("V",), low=-1),
    "boost": Expected("f8", ("B", "K"), low=0),
}

# Traces: one entry for each recorded sweep.
_RECORDED = {"sweep": Expected("i", ("T",), low=1), "changed": Expected("i", ("T",), low=0)}
_CHAIN_TRACE = _RECORDED | {
    "log_joint": Expected("f", ("T",)),
    "alpha_sum": Expected("f", ("T",), positive=True),
    "beta_mean": Expected("f", ("T",), positive=True),
    "agreement": Expected("f", ("T of agreement",), low=0, high=1, optional=True),
    "acceptance": Expected("f", ("T of acceptance",), low=0, high=1, optional=True),
}
_VARIATIONAL_TRACE = _CHAIN_TRACE | {
    "log_joint": Expected("f", ("T",), finite=False),  # a bound need not exist
    "change": Expected("f", ("T",), low=0, high=inf),
}
_HMM_TRACE = _RECORDED | {
    "log_joint": Expected("f", ("T",), high=inf, finite=False),
    "agreement": Expected("f", ("T",), low=0, high=1),
}
TRACES = {"chain": _CHAIN_TRACE, "variational": _VARIATIONAL_TRACE, "hmm": _HMM_TRACE}

_MIXTURES = {
    "pi": Expected("f8", ("R", "K"), positive=True),
    "log_pi": Expected("f8", ("R", "K"), high=1e-6),
    "phi": Expected("f8", ("R", "K")),
    "log_step": Expected("f8", ("R",)),
    "acceptance": Expected("f8", ("R",), low=0, high=1),
    "gamma": Expected("f8", (1,), positive=True),
    "alpha": Expected("f8", ("K",), positive=True),
    "sweeps": Expected("i8", ("S",), low=1),
    "draws": Expected("f8", ("S", "R", "K"), low=0, high=1 + 1e-6),
    "gammas": Expected("f8", ("S",), positive=True),
    "alphas": Expected("f8", ("S",), positive=True),
}


class Belonging(NamedTuple):
    """What a model knows of its chains; None where it has no say."""

    n_topics: int | None = None
    rows: Int32Array | None = None  # the collection of each document; None: documents have one prior
    tasks: Sequence[int] | None = None  # of a supervised model's chain


def check_trace(file: Contents, kind: str, prefix: str = "trace_") -> None:
    """Whether a trace has one entry for each recorded sweep."""
    for name in [name for name in file.sizes if name[0] == "T"]:
        del file.sizes[name]  # of the trace before this one
    file.expect(TRACES[kind], prefix)
    sweeps = file.arrays[f"{prefix}sweep"]
    if np.any(np.diff(sweeps) <= 0):
        file.fail(f"the array {prefix + 'sweep'!r} does not rise")
    for name in ("agreement", "acceptance"):
        if file.sizes.get(f"T of {name}", 0) not in (0, len(sweeps)):
            file.fail(f"the array {prefix + name!r} has another length than the trace")


def _check_sweep(file: Contents, index: int, kind: str) -> int:
    """The number of a chain's last sweep, if all that it has recorded came before."""
    if file.whole("index") != index:
        file.fail(f"it holds chain {file.info['index']}, expected chain {index}")
    sweep = file.whole("sweep")
    check_trace(file, kind)
    if np.any(file.arrays["trace_sweep"] > sweep):
        file.fail(f"its trace goes beyond sweep {sweep}, where the chain is")
    return sweep


def _check_prior(file: Contents, rows: Int32Array | None) -> None:
    file.expect(_PRIOR)
    arrays, sizes = file.arrays, file.sizes
    if sizes["R"] != (1 if rows is None else int(rows.max()) + 1):
        file.fail(f"the array 'alpha' has {sizes['R']} rows, which is not the number of collections")
    expected = np.zeros(sizes["D"], np.int32) if rows is None else rows
    file.equals("alpha_row", expected, "the documents' collections")
    used = arrays["boost_row"][arrays["boost_row"] >= 0]
    if not np.array_equal(np.sort(used), np.arange(sizes["B"])):
        file.fail("the array 'boost_row' does not name every row of 'boost' once")
    file.sums_to("beta", arrays["beta"].sum() + arrays["boost"].sum(axis=0), arrays["beta_sum"])


def check_chain(
    path: Path, arrays: Mapping[str, AnyArray], info: Any, index: int, corpus: Corpus, kernel: Kernel, of: Belonging
) -> None:
    """A checkpoint of a sampler."""
    file = Contents(path, arrays, info, K=of.n_topics, D=corpus.n_docs, V=corpus.n_words, N=corpus.n_tokens)
    sweep = _check_sweep(file, index, "chain")
    _check_prior(file, of.rows)
    if kernel.n_latent is not None:
        file.expect({"z": Expected("f4", (kernel.n_latent,), low=0, high=1 + 1e-6)})
    else:
        file.expect({"z": Expected(_topics(file.sizes["K"]), ("N",), low=0, high=file.sizes["K"] - 1)})
    if of.tasks is not None:
        file.sizes["C"] = len(of.tasks)
        file.expect({"task": Expected("i8", ("C",)), "eta": Expected("f8", ("K", "C"))})
        file.equals("task", np.array(of.tasks), "the model's tasks")
    n_kept = file.whole("kept", high=sweep)
    if n_kept:
        _check_kept(file, corpus, kernel, n_kept, of)
    if of.rows is not None:
        _check_mixtures(file, sweep, n_kept)
    if any(name.startswith("course_") for name in arrays):
        _check_course(file, corpus, kernel)
    file.expect_no_others()


def _topics(n_topics: int) -> str:
    return np.dtype(topic_dtype(n_topics)).str[1:]


def _check_kept(file: Contents, corpus: Corpus, kernel: Kernel, n_kept: int, of: Belonging) -> None:
    """Sums of counts over samples: each sample has every token once."""
    by_label = kernel.name.startswith("labeled")
    file.expect({"kept_doc": Expected("f8", ("labels of documents",) if by_label else ("D", "K"), low=0)})
    file.expect({"kept_word": Expected("f8", ("V", "K"), low=0)})
    if of.tasks is not None:
        file.expect({"kept_eta": Expected("f8", ("K", "C"))})
    mass = n_kept * float(corpus.n_tokens if corpus.weights is None else corpus.weights.sum())
    for name in ("kept_doc", "kept_word"):
        file.sums_to(name, file.arrays[name].sum(), mass, _ROUNDING)


def _check_mixtures(file: Contents, sweep: int, n_kept: int) -> None:
    prefix = "mixtures_"
    file.expect(_MIXTURES, prefix)
    shape = ("R", "K") if n_kept else (0, 0)
    file.expect({"kept": Expected("f8", shape, positive=True)}, prefix)
    file.sums_to(f"{prefix}pi", file.arrays[f"{prefix}pi"].sum(axis=1), 1.0)
    file.sums_to(f"{prefix}draws", file.arrays[f"{prefix}draws"].sum(axis=2), 1.0)
    sweeps = file.arrays[f"{prefix}sweeps"]
    if np.any(np.diff(sweeps) <= 0) or np.any(sweeps > sweep):
        file.fail(f"the array {prefix + 'sweeps'!r} does not rise to the chain's sweep")
    rows = file.arrays[f"{prefix}gamma"][0] * file.arrays[f"{prefix}pi"]
    file.sums_to("alpha", file.arrays["alpha"], rows)


# -- sweeps in blocks ----------------------------------------------------------------------------------------------


def _check_course(file: Contents, corpus: Corpus, kernel: Kernel) -> None:
    """Blocks that cover documents and words once, and moves that the counts allow."""
    names = list(_WAYS)
    ways = range(len(names)) if kernel.name == "auto" else [names.index(kernel.name)] if kernel.name in names else []
    course = {
        "way": Expected("i8", (1,), low=min(ways, default=1), high=max(ways, default=0)),
        "docs": Expected("i8", ("shards", "pieces", 2), low=0, high=corpus.n_docs),
        "words": Expected("i8", ("parts", 2), low=0, high=corpus.n_words),
        "unseen": Expected("i8", ("parts", "lag", "K"), low=-corpus.n_tokens, high=corpus.n_tokens),
    }
    file.expect(course, "course_")
    sizes, arrays = file.sizes, file.arrays
    if sizes["lag"] != max(1, sizes["pieces"] // 2) or sizes["shards"] < sizes["parts"]:
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


# -- samplers over documents' labels ---------------------------------------------------------------------------------


def check_state(path: Path, corpus: Corpus, state: AnyState, arrays: Mapping[str, AnyArray]) -> None:
    """What a checkpoint says of documents' labels, which only its kernel knows."""
    if isinstance(state, LabeledState | SoftLabeledState) and "kept_doc" in arrays:
        Contents(path, arrays, {}, n=len(state.labels)).expect({"kept_doc": Expected("f8", ("n",), low=0)})
    if isinstance(state, LabeledState):
        _check_labels_of_tokens(path, corpus, state)
    elif isinstance(state, SoftLabeledState):
        _check_shares_of_labels(path, corpus, state)


def _check_labels_of_tokens(path: Path, corpus: Corpus, state: LabeledState) -> None:
    """Whether each token has a label of its own document."""
    z, ptr, size = state.z, state.label_ptr, len(state.topic)
    known = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr)) * size + state.labels
    for start in range(0, len(z), _CHUNK):
        stop = min(start + _CHUNK, len(z))
        docs = np.searchsorted(corpus.doc_ptr, np.arange(start, stop), side="right") - 1
        wanted = docs * size + z[start:stop]
        found = np.searchsorted(known, wanted)
        if np.any(found == len(known)) or np.any(known[found] != wanted):
            Contents(path, {}, {}).fail("a token has a label that is not one of its document")


def _check_shares_of_labels(path: Path, corpus: Corpus, state: SoftLabeledState) -> None:
    """Whether each pair's distribution over its document's labels sums to 1."""
    sizes = np.repeat(np.diff(state.label_ptr), np.diff(corpus.pairs.ptr))
    starts = np.cumsum(sizes) - sizes
    Contents(path, {}, {}).sums_to("z", np.add.reduceat(state.z, starts, dtype=np.float64), 1.0, _ROUNDING)


# -- variational modes -----------------------------------------------------------------------------------------------

_STREAM = {
    "counts": Expected("f8", ("V", "K"), low=0),
    "scale": Expected("f8", (1,), high=1, positive=True),
    "topic": Expected("f8", ("K",), low=0),
    "batches": Expected("i8", (1,), low=0),
}


def _state(mode: str) -> dict[str, Expected]:
    """Arrays that a mode does not need have no rows. Sums that are kept up to date may be off by their rounding."""
    collapsed, vem, cvb = mode in ("cvb0", "cvb", "cvb_exact"), mode == "vem", mode == "cvb"
    low = -1e-6
    return {
        "gamma": Expected("f4" if mode in ("cvb0", "cvb") else "f8", ("M" if collapsed else 0, "K"), low, 1 - low),
        "doc": Expected("f8", ("D", "K"), low),
        "word": Expected("f8", ("V", "K"), low),
        "topic": Expected("f8", ("K",), positive=True),
        "doc_var": Expected("f8", ("D" if cvb else 0, "K"), -_ROUNDING),
        "word_var": Expected("f8", ("V" if cvb else 0, "K"), -_ROUNDING),
        "topic_var": Expected("f8", ("K",), -_ROUNDING),
        "tau": Expected("f8", ("R", "K") if vem else (0, 0), positive=True, optional=not vem),
        "hyper": Expected("f8", (1, "K of hyper") if vem else (0, 0), positive=True, optional=not vem),
    }


def check_variational(
    path: Path, arrays: Mapping[str, AnyArray], info: Any, index: int, mode: str, corpus: Corpus | None, of: Belonging,
    n_words: int,
) -> None:  # fmt: skip
    """A checkpoint of a variational mode; a stream that was fed in parts has no corpus."""
    streams = mode in ("scvb0", "svb")
    n_pairs = None if corpus is None or streams else len(corpus.pairs.word)
    n_docs = None if corpus is None else corpus.n_docs
    file = Contents(path, arrays, info, K=of.n_topics, D=n_docs, V=n_words, M=n_pairs)
    _check_sweep(file, index, "variational")
    file.flags("converged")
    _check_prior(file, of.rows)
    file.expect({"changes": Expected("f8", (3,), finite=False)})
    if not np.all(arrays["changes"][:2] >= 0):
        file.fail("the array 'changes' has a negative change, or none")
    file.expect(_STREAM if streams else _state(mode), "state_")
    if streams:
        found = arrays["state_counts"].sum(axis=0) * arrays["state_scale"][0]
        file.sums_to("state_counts", found, arrays["state_topic"], _ROUNDING)
    else:
        assert corpus is not None
        _check_expected_counts(file, corpus)
    if mode == "vem" and file.sizes["K of hyper"] != 1 + file.sizes["K"]:
        file.fail("the array 'state_hyper' does not have one entry more than there are topics")
    file.expect_no_others()


def _check_expected_counts(file: Contents, corpus: Corpus) -> None:
    """Whether every document and word has its tokens and its prior in expected counts, and topics their sum."""
    arrays, pairs = file.arrays, corpus.pairs
    doc, word = arrays["state_doc"].sum(axis=1), arrays["state_word"].sum(axis=1)
    alpha, beta = arrays["alpha"].sum(axis=1)[arrays["alpha_row"]], file.sizes["K"] * arrays["beta"]
    beta[arrays["boost_row"] >= 0] += arrays["boost"].sum(axis=1)[arrays["boost_row"][arrays["boost_row"] >= 0]]
    of_docs = np.diff(np.append(0.0, np.cumsum(pairs.count))[pairs.ptr])
    of_words = np.bincount(pairs.word, pairs.count, minlength=len(word))
    file.sums_to("state_topic", arrays["state_word"].sum(axis=0), arrays["state_topic"], _ROUNDING)
    if len(arrays["state_gamma"]):
        file.sums_to("state_gamma", arrays["state_gamma"].sum(axis=1), 1.0, _ROUNDING)
        file.sums_to("state_doc", doc, of_docs + alpha, _ROUNDING)
        file.sums_to("state_word", word, of_words + beta, _ROUNDING)
    elif np.any(doc - of_docs > _LARGEST_PRIOR) or np.any(word - of_words > _LARGEST_PRIOR):
        file.fail("the arrays 'state_doc' and 'state_word' have more than the corpus and its priors")
    elif np.any(doc < of_docs * (1 - _ROUNDING)) or np.any(word < of_words * (1 - _ROUNDING)):
        file.fail("the arrays 'state_doc' and 'state_word' have less than the corpus")


# -- hidden Markov models --------------------------------------------------------------------------------------------


def check_hmm(
    path: Path, arrays: Mapping[str, AnyArray], info: Any, index: int, corpus: Corpus, n_states: int,
    n_paths: int | None,
) -> None:  # fmt: skip
    """A checkpoint of a hidden Markov model: paths, or, of EM, parameters."""
    k = n_states
    file = Contents(path, arrays, info, K=k, V=corpus.n_words, N=corpus.n_tokens, paths=n_paths)
    sweep = _check_sweep(file, index, "hmm")
    file.flags("converged")
    file.expect({"value": Expected("f8", (1,), finite=False)})
    parameters = {"moves": Expected("f8", (k + 1, k), low=0), "emission": Expected("f8", ("V", "K"), low=0)}
    n_kept = file.whole("kept", high=0 if n_paths is None else sweep)  # EM keeps no samples
    if n_paths is None:
        file.expect(parameters)
        file.sums_to("moves", arrays["moves"].sum(axis=1), 1.0)
        file.sums_to("emission", arrays["emission"].sum(axis=0), 1.0)
    else:
        if "z" in arrays and arrays["z"].ndim == 2 and arrays["z"].shape[1] != corpus.n_tokens:
            file.fail(f"it belongs to other sequences, with {arrays['z'].shape[1]} symbols and not {corpus.n_tokens}")
        file.expect({"z": Expected(_topics(k), ("paths", "N"), low=0, high=k - 1)})
        if n_kept:
            file.expect(parameters, "kept_")
            for name in ("kept_moves", "kept_emission"):
                file.sums_to(name, arrays[name].sum(), float(n_kept * n_paths * corpus.n_tokens), _ROUNDING)
    file.expect_no_others()
