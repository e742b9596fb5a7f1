"""Which words of unseen documents have which topics: the counts of ``fold_in``, kept apart by distinct word.

The samples are those of ``fold_in``, drawn by the same functions from the same streams. So the rows of a document add
up to its counts there, apart from rounding. Of a token this is T_j, its distribution over topics given all other tokens
(CGS_p eqs. 31 to 33), averaged over samples; tokens of one word have one such average.
"""

import numpy as np

from topicloom._types import FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Tokens
from topicloom.engine.document_tasks import over_documents
from topicloom.engine.fold_in import (
    _SHARDS,
    LongScratch,
    Sampling,
    ShortScratch,
    _add_soft,
    _add_soft_split,
    _is_short,
    _prepare_split,
    _sweep_document,
    _sweep_split,
    content_key,
    sorted_words,
)
from topicloom.engine.prior import DocumentPrior, document_prior
from topicloom.engine.threads import cut, resolve_jobs, run_parallel
from topicloom.numerics.jit import as_input, kernel
from topicloom.numerics.rng import Purpose, combine, fill_stream, path_key


@kernel
def _ends_of_words(text: Int32Array, ends: Int32Array) -> int:
    """Where the tokens of each distinct word end; returns how many words there are. ``text`` is sorted."""
    m = 0
    for i in range(text.shape[0]):
        if i + 1 == text.shape[0] or text[i + 1] != text[i]:
            ends[m] = i + 1
            m += 1
    return m


@kernel
def _add_hard(z: Int32Array, ends: Int32Array, out: FloatArray) -> None:
    start = 0
    for m in range(ends.shape[0]):
        for i in range(start, ends[m]):
            out[m, z[i]] += 1.0
        start = ends[m]


@kernel
def _split_words(
    text: Int32Array, phi: FloatArray, a: FloatArray, key: np.uint64, sampling: Sampling, z: Int32Array,
    doc: Int32Array, scratch: ShortScratch, stream: UInt64Array, ends: Int32Array, soft: bool, out: FloatArray,
) -> None:  # fmt: skip
    """As ``fold_in._fold_split``, with a row of ``out`` for each distinct word."""
    which, sums, active, slot, part = scratch.which, scratch.sums, scratch.active, scratch.slot, scratch.part
    scales, burn_in, thin = scratch.scales, sampling.burn_in, sampling.thin
    scales[: _prepare_split(text, phi, a, which, sums)] = 0.0
    for chain in range(sampling.n_chains):
        fill_stream(stream, combine(key, np.uint64(chain)))
        doc[:] = 0
        n = 0
        for t in range(burn_in + (sampling.n_samples - 1) * thin + 1):
            n = _sweep_split(text, phi, z, doc, scratch, n, stream, t == 0)
            if t < burn_in or (t - burn_in) % thin != 0:
                continue
            if not soft:
                _add_hard(z, ends, out)
                continue
            start = 0
            for m in range(ends.shape[0]):
                own = ShortScratch(which[start : ends[m]], sums, active, slot, part, scales)
                _add_soft_split(text[start : ends[m]], phi, z[start : ends[m]], doc, own, n, out[m])
                start = ends[m]
    if soft:
        for m in range(ends.shape[0]):
            row = phi[text[ends[m] - 1]]
            for k in range(a.shape[0]):
                out[m, k] += row[k] * a[k] * scales[m]


@kernel
def _whole_words(
    text: Int32Array, phi: FloatArray, a: FloatArray, key: np.uint64, sampling: Sampling, z: Int32Array,
    doc: Int32Array, scratch: LongScratch, stream: UInt64Array, ends: Int32Array, soft: bool, out: FloatArray,
) -> None:  # fmt: skip
    """As ``fold_in._fold_whole``, with a row of ``out`` for each distinct word."""
    burn_in, thin = sampling.burn_in, sampling.thin
    for chain in range(sampling.n_chains):
        fill_stream(stream, combine(key, np.uint64(chain)))
        doc[:] = 0
        scratch.mix[:] = a
        for t in range(burn_in + (sampling.n_samples - 1) * thin + 1):
            _sweep_document(text, phi, a, z, doc, scratch, stream, t == 0)
            if t < burn_in or (t - burn_in) % thin != 0:
                continue
            if not soft:
                _add_hard(z, ends, out)
                continue
            start = 0
            for m in range(ends.shape[0]):
                _add_soft(text[start : ends[m]], phi, a, z[start : ends[m]], doc, scratch, out[m])
                start = ends[m]


@kernel
def word_topics(
    doc_start: int, doc_stop: int, tokens: Tokens, phi: FloatArray, prior: DocumentPrior, key: np.uint64,
    sampling: Sampling, soft: bool, pair_ptr: Int64Array, out: FloatArray,
) -> None:  # fmt: skip
    """Add topic counts of some documents' words to ``out``; those of document d start at row ``pair_ptr[d]``."""
    words, doc_ptr = tokens.words, tokens.doc_ptr
    n_topics = phi.shape[1]
    doc, weight, stream = np.empty(n_topics, np.int32), np.empty(n_topics, np.float64), np.empty(4, np.uint64)
    for d in range(doc_start, doc_stop):
        text = words[doc_ptr[d] : doc_ptr[d + 1]]
        n = text.shape[0]
        if n == 0:
            continue
        a, own = prior.alpha[prior.alpha_row[d]], out[pair_ptr[d] : pair_ptr[d + 1]]
        z, all_ends = np.empty(n, np.int32), np.empty(n, np.int32)
        ends = all_ends[: _ends_of_words(text, all_ends)]
        doc_key = content_key(key, text)
        if _is_short(n, n_topics):
            short = ShortScratch(
                np.empty(n, np.int32), np.empty((n, n_topics), np.float64), np.empty(n_topics, np.int32),
                np.empty(n_topics, np.int32), weight, np.empty(n, np.float64),
            )  # fmt: skip
            _split_words(text, phi, a, doc_key, sampling, z, doc, short, stream, ends, soft, own)
        else:
            long = LongScratch(np.empty(n_topics, np.float64), weight, np.empty(n, np.int32))
            _whole_words(text, phi, a, doc_key, sampling, z, doc, long, stream, ends, soft, own)


@kernel
def add_documents(ptr: Int64Array, rows: FloatArray, out: FloatArray) -> None:
    """out[d] = Σ of the rows of document d, in their order."""
    out[:] = 0.0
    for d in range(ptr.shape[0] - 1):
        for i in range(ptr[d], ptr[d + 1]):
            for k in range(rows.shape[1]):
                out[d, k] += rows[i, k]


def sums_of_documents(ptr: Int64Array, rows: FloatArray) -> FloatArray:
    """Sums [D, K] of the rows [M, K] of each document; one document's do not depend on the others."""
    out = np.empty((len(ptr) - 1, rows.shape[1]))
    add_documents(np.ascontiguousarray(ptr), np.ascontiguousarray(rows), out)
    return out


@over_documents
def sample_word_topics(
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
    soft: bool = True,
) -> FloatArray:
    """Expected topic counts [M, K] of the distinct words of documents, in the order of ``corpus.pairs``.

    Arguments are those of ``fold_in_corpus``, as a model has checked them. With ``soft`` each token counts by its
    distribution over topics, otherwise by its drawn topic.
    """
    phi = as_input(np.asarray(word_topic_prob, np.float64))
    prior = document_prior(alpha, corpus.n_docs, alpha_row)
    tokens, pair_ptr = Tokens(as_input(sorted_words(corpus)), corpus.doc_ptr), as_input(corpus.pairs.ptr)
    sampling, key = Sampling(n_chains, burn_in, thin, n_samples), path_key(seed, Purpose.FOLD_IN)
    out = np.zeros((len(corpus.pairs.word), phi.shape[1]))

    def run(doc_range: tuple[int, int]) -> None:
        word_topics(*doc_range, tokens, phi, prior, key, sampling, soft, pair_ptr, out)

    run_parallel(run, cut(corpus.doc_lengths, _SHARDS), resolve_jobs(n_jobs))
    return np.asarray(out / (n_samples * n_chains))
