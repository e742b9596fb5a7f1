"""Topics of a supervised model by looking at all of them for every token (exact): Gibbs MedLDA, LightMedLDA eq. 15.

The reference for ``proposals``, and quicker than these where there are few topics. Names are as there.
"""

import numpy as np

from topicloom._types import FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.engine.blocks import Block, Tokens
from topicloom.engine.prior import Prior
from topicloom.medlda.proposals import enter_document
from topicloom.medlda.state import LabelTerms, MedState
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
    block: Block, tokens: Tokens, state: MedState, prior: Prior, labels: LabelTerms, stream: UInt64Array,
    work: Int64Array,
) -> None:  # fmt: skip
    """Draw the topic of every token of the given documents whose word is in the given range.

    ``work`` returns how many tokens changed and how many weights were computed.
    """
    words, doc_ptr = tokens.words, tokens.doc_ptr
    word_start, word_stop = block.word_start, block.word_stop
    z, word_topic, topic = state.z, state.word_topic, state.topic
    alpha, alpha_row, beta, beta_sum = prior.alpha, prior.alpha_row, prior.beta, prior.beta_sum
    eta, eta_by_task, pull, curve = labels.eta, labels.eta_by_task, labels.pull, labels.curve
    n_topics, n_tasks = eta.shape
    doc = np.zeros(n_topics, np.int32)
    coef, weight, gains, bends = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    lift, spare = np.empty(n_topics), np.empty(n_topics)  # exp g, up to a factor
    slope, bend, slope_without = np.empty(n_tasks), np.empty(n_tasks), np.empty(n_tasks)
    changed, visited = 0, 0
    for d in range(block.doc_start, block.doc_stop):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        a = alpha[alpha_row[d]]
        doc[:] = 0
        for i in range(begin, end):
            doc[z[i]] += 1
        for k in range(n_topics):
            coef[k] = (doc[k] + a[k]) / (topic[k] + beta_sum[k])
        enter_document(doc, end - begin, eta, pull[d], curve[d], slope, bend)
        _bends(eta_by_task, bend, bends)
        lifted = -1  # the topic for which ``lift`` holds: the one that the token left
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
                    slope_without[c] = slope[c] + bend[c] * eta[old, c]
                _gains(eta_by_task, slope_without, bends, gains)
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
                    slope[c] = slope_without[c] - bend[c] * eta[new, c]
                lifted = -1
                z[i] = new
                changed += 1
    work[0] = changed
    work[1] = visited * n_topics


@kernel
def conditional(
    token: int, d: int, tokens: Tokens, state: MedState, prior: Prior, labels: LabelTerms, weight: FloatArray
) -> None:
    """The weights from which ``sweep_block`` would draw this token's topic; leaves the state as it was."""
    z, word_topic, topic, eta = state.z, state.word_topic, state.topic, labels.eta
    n_topics, n_tasks = eta.shape
    begin, end, v, old = tokens.doc_ptr[d], tokens.doc_ptr[d + 1], tokens.words[token], z[token]
    a = prior.alpha[prior.alpha_row[d]]
    coef, gains, bends, lift = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    slope, bend, doc = np.empty(n_tasks), np.empty(n_tasks), np.zeros(n_topics, np.int32)
    for i in range(begin, end):
        doc[z[i]] += 1
    enter_document(doc, end - begin, eta, labels.pull[d], labels.curve[d], slope, bend)
    _bends(labels.eta_by_task, bend, bends)
    for c in range(n_tasks):
        slope[c] += bend[c] * eta[old, c]
    _gains(labels.eta_by_task, slope, bends, gains)
    exponentials(gains, largest(gains), lift, np.empty(n_topics))
    word_topic[v, old] -= 1
    topic[old] -= 1
    doc[old] -= 1
    for k in range(n_topics):
        coef[k] = (doc[k] + a[k]) / (topic[k] + prior.beta_sum[k])
    _weigh(word_topic[v], prior.beta[v], coef, lift, weight)
    word_topic[v, old] += 1
    topic[old] += 1
