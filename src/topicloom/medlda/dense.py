"""Topics of a supervised model by looking at all of them for every token (exact): Gibbs MedLDA, LightMedLDA eq. 15.

The reference for ``medlda``, and quicker than proposals where there are few topics. Names are as there.
"""

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.medlda.proposals import enter_document
from topicloom.numerics.exponent import exponentials, largest
from topicloom.numerics.jit import kernel
from topicloom.numerics.rng import uniform
from topicloom.numerics.search import search
from topicloom.numerics.sums import sum_of


@kernel
def _bends(eta_by_task: FloatArray, bend: FloatArray, out: FloatArray) -> None:
    """½ Σ_c bend_c η_kc² of every topic."""
    out[:] = 0.0
    for c in range(bend.shape[0]):
        half, weights = 0.5 * bend[c], eta_by_task[c]
        for k in range(out.shape[0]):
            out[k] += half * weights[k] * weights[k]


@kernel
def _gains(eta_by_task: FloatArray, slope: FloatArray, bends: FloatArray, out: FloatArray) -> None:
    """g of every topic, the token being out of ``slope``."""
    for k in range(out.shape[0]):
        out[k] = -bends[k]
    for c in range(slope.shape[0]):
        s, weights = slope[c], eta_by_task[c]
        for k in range(out.shape[0]):
            out[k] += s * weights[k]


@kernel
def _weigh(row: Int32Array, beta: float, coef: FloatArray, lift: FloatArray, weight: FloatArray) -> float:
    for k in range(lift.shape[0]):
        weight[k] = (row[k] + beta) * coef[k] * lift[k]
    return sum_of(weight)


@kernel
def sweep_block(
    doc_start: int, doc_stop: int, word_start: int, word_stop: int,
    words: Int32Array, doc_ptr: Int64Array, z: AnyArray, word_topic: Int32Array, topic: Int64Array,
    alpha: FloatArray, alpha_row: Int32Array, beta: FloatArray, beta_sum: FloatArray,
    eta: FloatArray, eta_by_task: FloatArray, pull: FloatArray, curve: FloatArray, stream: UInt64Array,
    work: Int64Array,
) -> None:  # fmt: skip
    """Draw the topic of every token of the given documents whose word is in the given range."""
    n_topics, n_tasks = eta.shape
    doc = np.zeros(n_topics, np.int32)
    coef, weight, gains, bends = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    lift, spare = np.empty(n_topics), np.empty(n_topics)  # exp g, up to a factor
    slope, bend, out = np.empty(n_tasks), np.empty(n_tasks), np.empty(n_tasks)
    changed, visited = 0, 0
    for d in range(doc_start, doc_stop):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        a = alpha[alpha_row[d]]
        doc[:] = 0
        for i in range(begin, end):
            doc[z[i]] += 1
        for k in range(n_topics):
            coef[k] = (doc[k] + a[k]) / (topic[k] + beta_sum[k])
        enter_document(doc, end - begin, eta, pull[d], curve[d], slope, bend)
        _bends(eta_by_task, bend, bends)
        lifted = -1  # the topic that the token left for which ``lift`` holds
        for i in range(begin, end):
            v = words[i]
            if v < word_start or v >= word_stop:
                continue
            row, old = word_topic[v], int(z[i])
            row[old] -= 1
            topic[old] -= 1
            doc[old] -= 1
            coef[old] = (doc[old] + a[old]) / (topic[old] + beta_sum[old])
            if old != lifted:
                for c in range(n_tasks):
                    out[c] = slope[c] + bend[c] * eta[old, c]
                _gains(eta_by_task, out, bends, gains)
                exponentials(gains, largest(gains), lift, spare)
                lifted = old
            new = search(weight, uniform(stream) * _weigh(row, beta[v], coef, lift, weight))
            row[new] += 1
            topic[new] += 1
            doc[new] += 1
            coef[new] = (doc[new] + a[new]) / (topic[new] + beta_sum[new])
            visited += 1
            if new != old:
                for c in range(n_tasks):
                    slope[c] = out[c] - bend[c] * eta[new, c]
                lifted = -1
                z[i] = new
                changed += 1
    work[0] = changed
    work[1] = visited * n_topics


@kernel
def conditional(
    tok: int, d: int, words: Int32Array, doc_ptr: Int64Array, z: AnyArray, word_topic: Int32Array, topic: Int64Array,
    alpha: FloatArray, alpha_row: Int32Array, beta: FloatArray, beta_sum: FloatArray, eta: FloatArray,
    eta_by_task: FloatArray, pull: FloatArray, curve: FloatArray, weight: FloatArray,
) -> None:  # fmt: skip
    """The weights from which ``sweep_block`` would draw this token's topic; leaves the state as it was."""
    n_topics, n_tasks = eta.shape
    begin, end, v, old = doc_ptr[d], doc_ptr[d + 1], words[tok], z[tok]
    a = alpha[alpha_row[d]]
    coef, gains, bends, lift = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    slope, bend, doc = np.empty(n_tasks), np.empty(n_tasks), np.zeros(n_topics, np.int32)
    for i in range(begin, end):
        doc[z[i]] += 1
    enter_document(doc, end - begin, eta, pull[d], curve[d], slope, bend)
    _bends(eta_by_task, bend, bends)
    for c in range(n_tasks):
        slope[c] += bend[c] * eta[old, c]
    _gains(eta_by_task, slope, bends, gains)
    exponentials(gains, largest(gains), lift, np.empty(n_topics))
    word_topic[v, old] -= 1
    topic[old] -= 1
    doc[old] -= 1
    for k in range(n_topics):
        coef[k] = (doc[k] + a[k]) / (topic[k] + beta_sum[k])
    _weigh(word_topic[v], beta[v], coef, lift, weight)
    word_topic[v, old] += 1
    topic[old] += 1
