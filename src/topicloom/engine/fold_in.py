"""Topic counts of unseen documents with the topics held fixed."""

from typing import NamedTuple

import numpy as np

from topicloom._types import FloatArray, Int32Array
from topicloom.corpus._checks import check_seed, check_whole
from topicloom.corpus.corpus import Corpus
from topicloom.engine import fold_in_kernels as foldin
from topicloom.engine.threads import cut, resolve_jobs, run_parallel
from topicloom.errors import InputError
from topicloom.numerics.jit import as_input
from topicloom.numerics.rng import Purpose, path_key

_SHARDS = 64  # more than any reasonable number of threads, so that they finish together


class FoldIn(NamedTuple):
    """Topic counts of each document, averaged over samples and chains; divide (counts + α) by (N_d + Σα) for θ."""

    hard: FloatArray | None  # [D, K] n_dk, CGS_p eq. 26
    soft: FloatArray | None  # [D, K] Σ_j T(z_dj = k), CGS_p eq. 33


def fold_in(
    corpus: Corpus,
    word_topic_prob: FloatArray,
    alpha: FloatArray,
    *,
    alpha_row: Int32Array | None = None,
    burn_in: int = 50,
    thin: int = 5,
    n_samples: int = 1,
    n_chains: int = 1,
    seed: int = 0,
    n_jobs: int = 1,
    hard: bool = True,
    soft: bool = True,
) -> FoldIn:
    """Sample each document's topics given ``word_topic_prob`` (φ by word, V × K) and α (K, or rows × K).

    A document's result depends only on its words, the topics, α and the seed.
    """
    if corpus.weights is not None:
        raise InputError("sampling topics needs whole tokens; this corpus has fractional weights.")
    for name, value, least in (
        ("burn_in", burn_in, 0),
        ("thin", thin, 1),
        ("n_samples", n_samples, 1),
        ("n_chains", n_chains, 1),
    ):
        check_whole(name, value, least)
    check_seed(seed)
    phi = as_input(np.asarray(word_topic_prob, np.float64))
    if phi.ndim != 2 or phi.shape[0] != corpus.n_words:
        raise InputError(f"word_topic_prob has shape {phi.shape}; expected one row for each of {corpus.n_words} words.")
    alpha = as_input(np.atleast_2d(np.asarray(alpha, np.float64)))
    if alpha.shape[1] != phi.shape[1]:
        raise InputError(f"alpha has {alpha.shape[1]} topics, the word distributions have {phi.shape[1]}.")
    rows = as_input(np.zeros(corpus.n_docs, np.int32) if alpha_row is None else np.asarray(alpha_row, np.int32))
    impossible = phi.sum(axis=1) <= 0
    if np.any(impossible[corpus.words]):
        word = corpus.vocabulary[corpus.words[np.flatnonzero(impossible[corpus.words])[0]]]
        raise InputError(f"the word {word!r} has probability 0 in every topic, so documents with it have no topics.")
    words = as_input(sorted_words(corpus))
    shape = (corpus.n_docs, phi.shape[1])
    out_hard = np.zeros(shape if hard else (0, 0))
    out_soft = np.zeros(shape if soft else (0, 0))

    def run(part: tuple[int, int]) -> None:
        foldin.fold_in(
            *part, words, corpus.doc_ptr, phi, alpha, rows, path_key(seed, Purpose.FOLD_IN), n_chains, burn_in, thin,
            n_samples, out_hard, out_soft,
        )  # fmt: skip

    run_parallel(run, cut(corpus.doc_lengths, _SHARDS), resolve_jobs(n_jobs))
    n = n_samples * n_chains
    return FoldIn(out_hard / n if hard else None, out_soft / n if soft else None)


def sorted_words(corpus: Corpus) -> Int32Array:
    """The token stream with each document's words ascending: the same content gives the same stream."""
    steps = np.diff(corpus.words) < 0
    starts = corpus.doc_ptr[1:-1]
    steps[starts[(starts > 0) & (starts < corpus.n_tokens)] - 1] = False
    if not steps.any():
        return corpus.words
    return corpus.words[np.lexsort((corpus.words, corpus.token_docs))]
