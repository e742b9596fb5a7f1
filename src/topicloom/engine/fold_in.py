"""Topics of unseen documents with the topics' word distributions held fixed (CGS_p eqs. 4, 31, 33).

The random stream of a document is keyed by its content, so its answer depends neither on its batch, nor on its row,
nor on the number of threads.

A long document looks at every topic for every token. One that is short beside the number of topics splits the weights,
φ_kv α_k + φ_kv n_dk: the running sums of the first part are made once for each of its words, and searched; of the
second only the few topics that the document has are not 0. The same split serves the soft counts, whose first part is
added up once for all samples.
"""

from typing import NamedTuple

import numpy as np

from topicloom._types import FloatArray, Int32Array, UInt64Array
from topicloom.corpus._checks import check_seed, check_whole
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Tokens
from topicloom.engine.document_tasks import over_documents
from topicloom.engine.prior import DocumentPrior, document_prior
from topicloom.engine.threads import cut, resolve_jobs, run_parallel
from topicloom.errors import InputError
from topicloom.numerics.jit import as_input, kernel
from topicloom.numerics.rng import Purpose, combine, fill_stream, path_key, uniform
from topicloom.numerics.search import put_in_order, search, search_sums
from topicloom.numerics.sums import sum_of

_SHARDS = 64  # more than any reasonable number of threads, so that they finish together


class Sampling(NamedTuple):
    """How each document is sampled.

    A chain starts by adding the tokens one by one. Samples are taken after ``burn_in`` more sweeps, and every ``thin``
    sweeps from there.
    """

    n_chains: int
    burn_in: int
    thin: int
    n_samples: int


class Sums(NamedTuple):
    """Topic counts summed over chains and samples; one without entries is left out."""

    hard: FloatArray  # [D, K], or [K] of one document
    soft: FloatArray


class LongScratch(NamedTuple):
    """Scratch of a document whose tokens look at every topic."""

    mix: FloatArray  # [K] n_dk + α_k
    weight: FloatArray  # [K]
    run: Int32Array  # [tokens] topics of the tokens of one word


class ShortScratch(NamedTuple):
    """Scratch of a document whose weights are split."""

    which: Int32Array  # [tokens] the number of each token's word among the document's distinct words
    sums: FloatArray  # [distinct words, K] running sums of φ_kv α_k
    active: Int32Array  # [K] the topics that the document has
    slot: Int32Array  # [K] where each of them stands in ``active``
    part: FloatArray  # [K] φ_kv n_dk, in the order of ``active``
    scales: FloatArray  # [distinct words] factors of the soft counts


@kernel
def _weigh(phi: FloatArray, mix: FloatArray, weight: FloatArray) -> float:
    for k in range(mix.shape[0]):
        weight[k] = phi[k] * mix[k]
    return sum_of(weight)


@kernel
def content_key(key: np.uint64, words: Int32Array) -> np.uint64:
    """The key of a document: a hash of its words in ascending order."""
    for v in words:
        key = combine(key, np.uint64(v))
    return combine(key, np.uint64(words.shape[0]))


@kernel
def _sweep_document(
    words: Int32Array, phi: FloatArray, alpha: FloatArray, z: Int32Array, doc: Int32Array, scratch: LongScratch,
    stream: UInt64Array, first: bool,
) -> None:  # fmt: skip
    """Draw each token's topic once. The first sweep adds tokens to an empty document."""
    mix, weight = scratch.mix, scratch.weight
    for i in range(words.shape[0]):
        if not first:
            old = z[i]
            doc[old] -= 1
            mix[old] = doc[old] + alpha[old]
        total = _weigh(phi[words[i]], mix, weight)
        k = search(weight, uniform(stream) * total)
        z[i] = k
        doc[k] += 1
        mix[k] = doc[k] + alpha[k]


@kernel
def _add_soft(
    words: Int32Array, phi: FloatArray, alpha: FloatArray, z: Int32Array, doc: Int32Array, scratch: LongScratch,
    out: FloatArray,
) -> None:  # fmt: skip
    """Add the transition probabilities of every token, its own topic excluded (eqs. 31, 33).

    ``words`` is sorted, so equal words stand together; among them tokens of equal topic share one computation.
    """
    mix, weight, run = scratch.mix, scratch.weight, scratch.run
    n = words.shape[0]
    i = 0
    while i < n:
        j = i + 1
        while j < n and words[j] == words[i]:
            j += 1
        topics = run[: j - i]
        topics[:] = z[i:j]
        put_in_order(topics, j - i)
        a = 0
        while a < j - i:
            own = topics[a]
            b = a + 1
            while b < j - i and topics[b] == own:
                b += 1
            mix[own] = (doc[own] - 1) + alpha[own]
            total = _weigh(phi[words[i]], mix, weight)
            mix[own] = doc[own] + alpha[own]
            scale = (b - a) / total
            for k in range(mix.shape[0]):
                out[k] += weight[k] * scale
            a = b
        i = j


@kernel
def _is_short(n: int, n_topics: int) -> bool:
    """Whether to split the weights: a token then costs the topics of its document, at most n of them."""
    return 2 * n <= n_topics and n * n_topics <= 1 << 22


@kernel
def _prepare_split(words: Int32Array, phi: FloatArray, alpha: FloatArray, which: Int32Array, sums: FloatArray) -> int:
    """Number the document's distinct words and fill their running sums of φ_kv α_k; returns how many there are."""
    m = 0
    for i in range(words.shape[0]):
        if i == 0 or words[i] != words[i - 1]:
            row, total = phi[words[i]], 0.0
            for k in range(alpha.shape[0]):
                total += row[k] * alpha[k]
                sums[m, k] = total
            m += 1
        which[i] = m - 1
    return m


@kernel
def _draw_split(
    row: FloatArray, sums: FloatArray, doc: Int32Array, active: Int32Array, n: int, part: FloatArray, u: float
) -> int:
    """A topic by its weight φ_kv (n_dk + α_k), ``n`` topics being active."""
    own = 0.0
    for j in range(n):
        part[j] = row[active[j]] * doc[active[j]]
        own += part[j]
    last = sums.shape[0] - 1
    u *= own + sums[last]
    if u < own:
        for j in range(n):
            if u < part[j]:
                return int(active[j])
            u -= part[j]
        u = 0.0  # only by rounding
    else:
        u -= own
    k = search_sums(sums, u)
    while k > 0 and sums[k] == sums[k - 1]:  # only by rounding: the last topic that can be drawn at all
        k -= 1
    return k


@kernel
def _sweep_split(
    words: Int32Array, phi: FloatArray, z: Int32Array, doc: Int32Array, scratch: ShortScratch, n: int,
    stream: UInt64Array, first: bool,
) -> int:  # fmt: skip
    """As ``_sweep_document``; returns the number of topics that the document has then, listed in ``active``."""
    which, sums, active, slot, part = scratch.which, scratch.sums, scratch.active, scratch.slot, scratch.part
    for i in range(words.shape[0]):
        if not first:
            old = z[i]
            doc[old] -= 1
            if doc[old] == 0:
                n -= 1
                moved = active[n]
                active[slot[old]] = moved
                slot[moved] = slot[old]
        k = _draw_split(phi[words[i]], sums[which[i]], doc, active, n, part, uniform(stream))
        z[i] = k
        if doc[k] == 0:
            active[n] = k
            slot[k] = n
            n += 1
        doc[k] += 1
    return n


@kernel
def _add_soft_split(
    words: Int32Array, phi: FloatArray, z: Int32Array, doc: Int32Array, scratch: ShortScratch, n: int, out: FloatArray
) -> None:
    """As ``_add_soft``, except for the part with α: of that only each word's factor is added up, in ``scales``."""
    which, sums, active, part, scales = scratch.which, scratch.sums, scratch.active, scratch.part, scratch.scales
    last = sums.shape[1] - 1
    for i in range(words.shape[0]):
        row, own = phi[words[i]], z[i]
        total = sums[which[i], last]
        for j in range(n):
            k = active[j]
            part[j] = row[k] * (doc[k] - 1 if k == own else doc[k])
            total += part[j]
        scales[which[i]] += 1.0 / total
        for j in range(n):
            out[active[j]] += part[j] / total


@kernel
def _fold_split(
    text: Int32Array, phi: FloatArray, a: FloatArray, key: np.uint64, sampling: Sampling, z: Int32Array,
    doc: Int32Array, scratch: ShortScratch, stream: UInt64Array, out: Sums,
) -> None:  # fmt: skip
    """All chains of one short document."""
    which, scales, out_hard, out_soft = scratch.which, scratch.scales, out.hard, out.soft
    burn_in, thin = sampling.burn_in, sampling.thin
    m = _prepare_split(text, phi, a, which, scratch.sums)
    scales[:m] = 0.0
    for chain in range(sampling.n_chains):
        fill_stream(stream, combine(key, np.uint64(chain)))
        doc[:] = 0
        n = 0
        for t in range(burn_in + (sampling.n_samples - 1) * thin + 1):
            n = _sweep_split(text, phi, z, doc, scratch, n, stream, t == 0)
            if t >= burn_in and (t - burn_in) % thin == 0:
                if out_hard.shape[0] > 0:
                    for k in z:
                        out_hard[k] += 1.0
                if out_soft.shape[0] > 0:
                    _add_soft_split(text, phi, z, doc, scratch, n, out_soft)
    if out_soft.shape[0] > 0:
        for i in range(text.shape[0]):
            if i == 0 or which[i] != which[i - 1]:
                row, scale = phi[text[i]], scales[which[i]]
                for k in range(a.shape[0]):
                    out_soft[k] += row[k] * a[k] * scale


@kernel
def _fold_whole(
    text: Int32Array, phi: FloatArray, a: FloatArray, key: np.uint64, sampling: Sampling, z: Int32Array,
    doc: Int32Array, scratch: LongScratch, stream: UInt64Array, out: Sums,
) -> None:  # fmt: skip
    """All chains of one long document."""
    burn_in, thin = sampling.burn_in, sampling.thin
    for chain in range(sampling.n_chains):
        fill_stream(stream, combine(key, np.uint64(chain)))
        doc[:] = 0
        scratch.mix[:] = a
        for t in range(burn_in + (sampling.n_samples - 1) * thin + 1):
            _sweep_document(text, phi, a, z, doc, scratch, stream, t == 0)
            if t >= burn_in and (t - burn_in) % thin == 0:
                if out.hard.shape[0] > 0:
                    for k in z:
                        out.hard[k] += 1.0
                if out.soft.shape[0] > 0:
                    _add_soft(text, phi, a, z, doc, scratch, out.soft)


@kernel
def fold_in(
    doc_start: int, doc_stop: int, tokens: Tokens, phi: FloatArray, prior: DocumentPrior, key: np.uint64,
    sampling: Sampling, out: Sums,
) -> None:  # fmt: skip
    """Add topic counts of some documents to ``out``. Tokens are in the order of their words within each document."""
    words, doc_ptr = tokens.words, tokens.doc_ptr
    n_topics = phi.shape[1]
    weight = np.empty(n_topics, np.float64)
    doc = np.empty(n_topics, np.int32)
    stream = np.empty(4, np.uint64)
    longest, longest_short = 0, 0
    for d in range(doc_start, doc_stop):
        n = doc_ptr[d + 1] - doc_ptr[d]
        longest = max(longest, n)
        if _is_short(n, n_topics):
            longest_short = max(longest_short, n)
    z_all = np.empty(longest, np.int32)
    none = np.empty(0, np.float64)
    long = LongScratch(mix=np.empty(n_topics, np.float64), weight=weight, run=np.empty(longest, np.int32))
    short = ShortScratch(
        which=np.empty(longest_short, np.int32),
        sums=np.empty((longest_short, n_topics), np.float64),
        active=np.empty(n_topics, np.int32),
        slot=np.empty(n_topics, np.int32),
        part=weight,
        scales=np.empty(longest_short, np.float64),
    )
    for d in range(doc_start, doc_stop):
        text = words[doc_ptr[d] : doc_ptr[d + 1]]
        n = text.shape[0]
        if n == 0:
            continue
        a = prior.alpha[prior.alpha_row[d]]
        own = Sums(out.hard[d] if out.hard.shape[0] > 0 else none, out.soft[d] if out.soft.shape[0] > 0 else none)
        z = z_all[:n]
        doc_key = content_key(key, text)
        if _is_short(n, n_topics):
            _fold_split(text, phi, a, doc_key, sampling, z, doc, short, stream, own)
        else:
            _fold_whole(text, phi, a, doc_key, sampling, z, doc, long, stream, own)


class FoldIn(NamedTuple):
    """Topic counts of each document, averaged over samples and chains; divide (counts + α) by (N_d + Σα) for θ."""

    hard: FloatArray | None  # [D, K] n_dk, CGS_p eq. 26
    soft: FloatArray | None  # [D, K] Σ_j T(z_dj = k), CGS_p eq. 33


@over_documents
def fold_in_corpus(
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
    phi, prior = checked_topics(corpus, word_topic_prob, alpha, alpha_row)
    tokens = Tokens(as_input(sorted_words(corpus)), corpus.doc_ptr)
    sampling, key = Sampling(n_chains, burn_in, thin, n_samples), path_key(seed, Purpose.FOLD_IN)
    shape = (corpus.n_docs, phi.shape[1])
    out = Sums(np.zeros(shape if hard else (0, 0)), np.zeros(shape if soft else (0, 0)))

    def run(doc_range: tuple[int, int]) -> None:
        fold_in(*doc_range, tokens, phi, prior, key, sampling, out)

    run_parallel(run, cut(corpus.doc_lengths, _SHARDS), resolve_jobs(n_jobs))
    n = n_samples * n_chains
    return FoldIn(out.hard / n if hard else None, out.soft / n if soft else None)


def checked_topics(
    corpus: Corpus, word_topic_prob: FloatArray, alpha: FloatArray, alpha_row: Int32Array | None
) -> tuple[FloatArray, DocumentPrior]:
    """φ by word and the documents' α as compiled code takes them, if every document can have topics by them."""
    phi = as_input(np.asarray(word_topic_prob, np.float64))
    if phi.ndim != 2 or phi.shape[0] != corpus.n_words:
        raise InputError(f"word_topic_prob has shape {phi.shape}; expected one row for each of {corpus.n_words} words.")
    prior = document_prior(alpha, corpus.n_docs, alpha_row)
    if prior.alpha.shape[1] != phi.shape[1]:
        raise InputError(f"alpha has {prior.alpha.shape[1]} topics, the word distributions have {phi.shape[1]}.")
    impossible = phi.sum(axis=1) <= 0
    if np.any(impossible[corpus.words]):
        word = corpus.vocabulary[corpus.words[np.flatnonzero(impossible[corpus.words])[0]]]
        raise InputError(f"the word {word!r} has probability 0 in every topic, so documents with it have no topics.")
    return phi, prior


def sorted_words(corpus: Corpus) -> Int32Array:
    """The word of each token, ascending within each document: the same content gives the same order."""
    steps = np.diff(corpus.words) < 0
    starts = corpus.doc_ptr[1:-1]
    steps[starts[(starts > 0) & (starts < corpus.n_tokens)] - 1] = False
    if not steps.any():
        return corpus.words
    return corpus.words[np.lexsort((corpus.words, corpus.token_docs))]
