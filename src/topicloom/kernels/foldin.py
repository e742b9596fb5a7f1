"""Topics of unseen documents with the topics' word distributions held fixed (CGS_p eqs. 4, 31, 33).

The random stream of a document is keyed by its content, so its answer depends neither on its batch, nor on its row,
nor on the number of threads.
"""

import numpy as np

from topicloom._types import FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.kernels._jit import kernel
from topicloom.kernels.rng import combine, fill_stream, uniform
from topicloom.kernels.search import search
from topicloom.kernels.sums import sum_of


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
    words: Int32Array, phi: FloatArray, alpha: FloatArray, z: Int32Array, doc: Int32Array, mix: FloatArray,
    weight: FloatArray, stream: UInt64Array, first: bool,
) -> None:  # fmt: skip
    """Draw each token's topic once; ``mix`` is n_dk + α_k. The first sweep adds tokens to an empty document."""
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
    words: Int32Array, phi: FloatArray, alpha: FloatArray, z: Int32Array, doc: Int32Array, mix: FloatArray,
    weight: FloatArray, run: Int32Array, out: FloatArray,
) -> None:  # fmt: skip
    """Add the transition probabilities of every token, its own topic excluded (eqs. 31, 33).

    ``words`` is sorted, so equal words stand together; among them tokens of equal topic share one computation.
    """
    n = words.shape[0]
    i = 0
    while i < n:
        j = i + 1
        while j < n and words[j] == words[i]:
            j += 1
        topics = run[: j - i]
        topics[:] = z[i:j]
        topics.sort()
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
def fold_in(
    doc_start: int, doc_stop: int, words: Int32Array, doc_ptr: Int64Array, phi: FloatArray, alpha: FloatArray,
    alpha_row: Int32Array, key: np.uint64, n_chains: int, burn_in: int, lag: int, n_samples: int,
    out_hard: FloatArray, out_soft: FloatArray,
) -> None:  # fmt: skip
    """Sum hard and soft topic counts over chains and samples; an output with no rows is left out.

    ``words`` is sorted within each document. A chain starts by adding the tokens one by one; samples are taken after
    ``burn_in`` more sweeps and every ``lag`` sweeps from there.
    """
    n_topics = phi.shape[1]
    weight = np.empty(n_topics, np.float64)
    mix = np.empty(n_topics, np.float64)
    doc = np.empty(n_topics, np.int32)
    stream = np.empty(4, np.uint64)
    longest = 0
    for d in range(doc_start, doc_stop):
        longest = max(longest, doc_ptr[d + 1] - doc_ptr[d])
    z_all = np.empty(longest, np.int32)
    run = np.empty(longest, np.int32)
    for d in range(doc_start, doc_stop):
        text = words[doc_ptr[d] : doc_ptr[d + 1]]
        n = text.shape[0]
        if n == 0:
            continue
        a = alpha[alpha_row[d]]
        z = z_all[:n]
        doc_key = content_key(key, text)
        for chain in range(n_chains):
            fill_stream(stream, combine(doc_key, np.uint64(chain)))
            doc[:] = 0
            mix[:] = a
            for t in range(burn_in + (n_samples - 1) * lag + 1):
                _sweep_document(text, phi, a, z, doc, mix, weight, stream, t == 0)
                if t >= burn_in and (t - burn_in) % lag == 0:
                    if out_hard.shape[0] > 0:
                        for k in z:
                            out_hard[d, k] += 1.0
                    if out_soft.shape[0] > 0:
                        _add_soft(text, phi, a, z, doc, mix, weight, run, out_soft[d])
