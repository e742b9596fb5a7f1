"""Collapsed variational Bayes for LDA: zero-order (CVB0, CGS_p eq. 6) and Gaussian (CVB, eqs. 16 to 18 of its paper).

One distribution γ over topics for each distinct (document, word) pair. All counts hold their prior: ``doc[d, k]`` is
α_k + E[n_dk], ``word[v, k]`` is β_vk + E[n_vk], ``topic[k]`` is Σ_v β_vk + E[n_k]; variances stand beside them for
the Gaussian form. An update takes one token of the pair out of the three counts, not the pair's whole multiplicity n,
since the other n − 1 tokens are variables of their own; the new γ goes back n times. Of a pair that weighs less than a
token (fractional counts) what is taken out is the pair's own weight.

The loops over topics are short: with more than a few arrays LLVM gives up telling them apart and vectorises none.
"""

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.engine.blocks import Block
from topicloom.lda.variational.state import PairIndex, VariationalState
from topicloom.numerics.jit import bare_kernel, kernel, reducing_kernel
from topicloom.numerics.rng import combine, fill_stream, uniform
from topicloom.numerics.search import first_from
from topicloom.numerics.special import exp, log
from topicloom.numerics.sums import largest, sum_of, sum_sizes

_TINY = 1e-30  # below it γ log γ is 0
_LOW = 1e-13  # of a count with its prior, of which rounding may have left less
_LEAST, _MOST = 1e-250, 1e250  # outside these a sum of weights is not to be trusted


@bare_kernel
def weigh_mean(
    gamma: AnyArray, own: float, doc: FloatArray, word: FloatArray, topic: FloatArray, weight: FloatArray
) -> float:
    """CGS_p eq. 6, with ``own`` of a token at γ left out; fills ``weight`` and returns its sum."""
    for k in range(weight.shape[0]):
        g = own * gamma[k]
        weight[k] = max(doc[k] - g, _LOW) * max(word[k] - g, _LOW) / max(topic[k] - g, _LOW)
    return sum_of(weight)


@bare_kernel
def _set_power(
    gamma: AnyArray, own: float, doc: FloatArray, word: FloatArray, topic: FloatArray, doc_var: FloatArray,
    word_var: FloatArray, topic_var: FloatArray, power: FloatArray,
) -> None:  # fmt: skip
    """The exponent of CVB eq. 18."""
    for k in range(power.shape[0]):
        g = own * gamma[k]
        v = g * (1.0 - gamma[k])
        d, w, t = max(doc[k] - g, _LOW), max(word[k] - g, _LOW), 1.0 / max(topic[k] - g, _LOW)
        by_dw = 1.0 / (d * w)
        by_d, by_w = w * by_dw, d * by_dw
        power[k] = 0.5 * ((topic_var[k] - v) * t * t - (doc_var[k] - v) * by_d * by_d - (word_var[k] - v) * by_w * by_w)


@bare_kernel
def _weigh_power(
    gamma: AnyArray, own: float, doc: FloatArray, word: FloatArray, topic: FloatArray, power: FloatArray, top: float,
    weight: FloatArray,
) -> float:  # fmt: skip
    for k in range(weight.shape[0]):
        g = own * gamma[k]
        weight[k] = max(doc[k] - g, _LOW) * max(word[k] - g, _LOW) / max(topic[k] - g, _LOW) * exp(power[k] - top)
    return sum_of(weight)


@bare_kernel
def weigh_gaussian(
    gamma: AnyArray, own: float, doc: FloatArray, word: FloatArray, topic: FloatArray, doc_var: FloatArray,
    word_var: FloatArray, topic_var: FloatArray, weight: FloatArray, power: FloatArray,
) -> float:  # fmt: skip
    """CVB eq. 18 up to a factor, with ``own`` of a token at γ left out of means and variances."""
    _set_power(gamma, own, doc, word, topic, doc_var, word_var, topic_var, power)
    total = _weigh_power(gamma, own, doc, word, topic, power, 0.0, weight)
    if not _LEAST < total < _MOST:  # very small priors and many topics: the largest exponent is taken out of all
        total = _weigh_power(gamma, own, doc, word, topic, power, largest(power), weight)
    return total


@bare_kernel
def _set_gamma(gamma: AnyArray, weight: FloatArray, scale: float, n: float) -> float:
    """γ from its weights, in whose place n Δγ is left. Counts add up what is stored, not what was computed."""
    for k in range(weight.shape[0]):
        new = gamma.dtype.type(weight[k] * scale)
        weight[k] = n * (np.float64(new) - np.float64(gamma[k]))
        gamma[k] = new
    return sum_sizes(weight)


@bare_kernel
def _add_to_counts(change: FloatArray, doc: FloatArray, word: FloatArray, topic: FloatArray) -> None:
    for k in range(change.shape[0]):
        x = change[k]
        doc[k] += x
        word[k] += x
        topic[k] += x


@bare_kernel
def _set_variance_change(gamma: AnyArray, n: float, change: FloatArray) -> None:
    """n Δ(γ(1 − γ)) in place of the old γ(1 − γ)."""
    for k in range(change.shape[0]):
        g = np.float64(gamma[k])
        change[k] = n * (g * (1.0 - g) - change[k])


@bare_kernel
def _variance(gamma: AnyArray, out: FloatArray) -> None:
    for k in range(out.shape[0]):
        g = np.float64(gamma[k])
        out[k] = g * (1.0 - g)


@bare_kernel
def sweep_block(
    block: Block, pairs: PairIndex, state: VariationalState, weight: FloatArray, power: FloatArray
) -> float:
    """Update every pair of the given documents and words once; returns Σ n Σ_k |Δγ_k|.

    Gaussian if the variances have rows, zero-order if not. The counts are live: each pair sees what the ones before it
    left. ``weight`` and ``power`` are scratch, one number per topic.
    """
    ptr, words, count, word_stop = pairs.ptr, pairs.word, pairs.count, block.word_stop
    gamma, doc, word, topic = state.gamma, state.doc, state.word, state.topic
    doc_var, word_var, topic_var = state.doc_var, state.word_var, state.topic_var
    gaussian = doc_var.shape[0] > 0
    moved = 0.0
    for d in range(block.doc_start, block.doc_stop):
        for i in range(first_from(words, ptr[d], ptr[d + 1], block.word_start), ptr[d + 1]):
            v, n = words[i], count[i]
            if v >= word_stop:
                break
            if n <= 0.0:
                continue
            g, own = gamma[i], min(n, 1.0)
            if gaussian:
                total = weigh_gaussian(
                    g, own, doc[d], word[v], topic, doc_var[d], word_var[v], topic_var, weight, power
                )
                _variance(g, power)
                moved += _set_gamma(g, weight, 1.0 / total, n)
                _set_variance_change(g, n, power)
                _add_to_counts(power, doc_var[d], word_var[v], topic_var)
            else:
                total = weigh_mean(g, own, doc[d], word[v], topic, weight)
                moved += _set_gamma(g, weight, 1.0 / total, n)
            _add_to_counts(weight, doc[d], word[v], topic)
    return moved


@kernel
def start(doc_start: int, doc_stop: int, ptr: Int64Array, key: np.uint64, gamma: AnyArray) -> None:
    """Random γ, uniform on the simplex; the random stream of a document follows from its number."""
    n_topics = gamma.shape[1]
    stream = np.empty(4, np.uint64)
    row = np.empty(n_topics)
    for d in range(doc_start, doc_stop):
        fill_stream(stream, combine(key, np.uint64(d)))
        for i in range(ptr[d], ptr[d + 1]):
            total = 0.0
            for k in range(n_topics):
                row[k] = -np.log(1.0 - uniform(stream))
                total += row[k]
            for k in range(n_topics):
                gamma[i, k] = row[k] / total


@kernel
def add_counts(
    pairs: PairIndex, gamma: AnyArray, doc: FloatArray, word: FloatArray, topic: FloatArray, variance: bool
) -> None:
    """Add Σ n γ, or Σ n γ(1 − γ), to the counts of documents, words and topics (CVB eq. 16)."""
    ptr, words, count = pairs.ptr, pairs.word, pairs.count
    for d in range(ptr.shape[0] - 1):
        for i in range(ptr[d], ptr[d + 1]):
            n, g, to_doc, to_word = count[i], gamma[i], doc[d], word[words[i]]
            for k in range(topic.shape[0]):
                x = np.float64(g[k])
                if variance:
                    x *= 1.0 - x
                to_doc[k] += n * x
                to_word[k] += n * x
                topic[k] += n * x


@kernel
def add_log_empty(pairs: PairIndex, gamma: AnyArray, doc: FloatArray, word: FloatArray, topic: FloatArray) -> None:
    """Add Σ n log(1 − γ), the log probability that a count is 0."""
    ptr, words, count = pairs.ptr, pairs.word, pairs.count
    for d in range(ptr.shape[0] - 1):
        for i in range(ptr[d], ptr[d + 1]):
            n, g, to_doc, to_word = count[i], gamma[i], doc[d], word[words[i]]
            for k in range(topic.shape[0]):
                x = n * log(max(1.0 - np.float64(g[k]), _TINY))
                to_doc[k] += x
                to_word[k] += x
                topic[k] += x


@reducing_kernel
def _entropy(gamma: AnyArray) -> float:
    total = 0.0
    for k in range(gamma.shape[0]):
        g = np.float64(gamma[k])
        total -= g * log(max(g, _TINY))
    return total


@kernel
def entropy(count: FloatArray, gamma: AnyArray) -> float:
    """Σ n H(γ): the entropy of all tokens' topics."""
    total = 0.0
    for i in range(count.shape[0]):
        total += count[i] * _entropy(gamma[i])
    return total
