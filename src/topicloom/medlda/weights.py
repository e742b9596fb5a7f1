"""The classifier's weights η of supervised topic models: lists of documents' topics, what η says of them, draws of η.

Given the augmented variables (``augment``), η_c of each task c is Gaussian with precision ν + Σ_d curve_dc z̄_d z̄_dᵀ and
linear part Σ_d pull_dc z̄_d, z̄_dk = n_dk/N_d (LightMedLDA eq. 22). ``draw_coordinates`` draws one weight after the other
given the rest (eqs. 23, 24) in time proportional to the number of (document, topic) pairs; ``draw_joint`` all of a task
at once, by Cholesky. Tasks do not meet, and each has a stream of its own, so they can be cut among threads.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.engine.blocks import Range
from topicloom.numerics.jit import bare_kernel, kernel
from topicloom.numerics.rng import combine, fill_stream
from topicloom.numerics.search import put_in_order
from topicloom.numerics.variates import normal

_TOKEN, _MOVE, _DOCUMENT = 86.0, 138.0, 2500  # nanoseconds on news20, K = 40, by least squares
_SCAN = 8  # topics that are looked at, present or not, in the time that it takes to put one in order


class DocTopics(NamedTuple):
    """The topics of each document, ascending, and their shares n_dk/N_d: ``number[d]`` of them from ``ptr[d]`` on."""

    ptr: Int64Array  # [D]
    number: Int64Array  # [D]
    topics: Int32Array
    share: FloatArray


class TopicDocs(NamedTuple):
    """The same pairs with each topic's documents side by side, ascending, from ``ptr[k]`` to ``ptr[k + 1]``."""

    ptr: Int64Array  # [K + 1]
    docs: Int32Array
    share: FloatArray


class CoordinateScratch(NamedTuple):
    """What ``draw_coordinates`` writes into, for C tasks."""

    streams: UInt64Array  # [C, 4] a random stream for each task
    precision: FloatArray  # [K, C] of each weight, without ν
    mean: FloatArray  # [C]
    change: FloatArray  # [C]


@bare_kernel
def list_topics(docs: Range, doc_ptr: Int64Array, z: AnyArray, count: Int64Array, doc_topics: DocTopics) -> None:
    """Fill in the topics of some documents.

    Documents follow one another from ``ptr`` of the first on, which is given; one place more than they fill is written.
    ``count`` is scratch, a zero for each topic.
    """
    ptr, number = doc_topics.ptr, doc_topics.number
    topics, share = doc_topics.topics, doc_topics.share
    n_topics, n = count.shape[0], ptr[docs[0]]
    for d in range(docs[0], docs[1]):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        first = n
        if n_topics <= _SCAN * (end - begin):
            for i in range(begin, end):
                count[z[i]] += 1
            for k in range(n_topics):  # as no one can foresee which are there, all are written and most written over
                topics[n] = k
                n += count[k] > 0
        else:
            for i in range(begin, end):
                k = z[i]
                if count[k] == 0:
                    topics[n] = k
                    n += 1
                count[k] += 1
            put_in_order(topics[first:], n - first)
        ptr[d], number[d] = first, n - first
        for j in range(first, n):
            share[j] = count[topics[j]] / (end - begin)
            count[topics[j]] = 0


@bare_kernel
def loads(docs: Range, doc_ptr: Int64Array, doc_topics: DocTopics, entries: int, out: Int64Array) -> None:
    """About what it will cost to draw the topics of each document, which is entered ``entries`` times.

    A token costs most where proposals differ from its topic, as often as two tokens of the document do.
    """
    ptr, number, share = doc_topics.ptr, doc_topics.number, doc_topics.share
    for d in range(docs[0], docs[1]):
        alike = 0.0
        for j in range(ptr[d], ptr[d] + number[d]):
            alike += share[j] * share[j]
        out[d] = int((doc_ptr[d + 1] - doc_ptr[d]) * (_TOKEN + _MOVE * (1.0 - alike))) + entries * _DOCUMENT


@bare_kernel
def by_topic(doc_topics: DocTopics, out: TopicDocs) -> None:
    """The same pairs by topic; ``out.ptr`` is 0 before."""
    ptr, number = doc_topics.ptr, doc_topics.number
    topics, share = doc_topics.topics, doc_topics.share
    topic_ptr = out.ptr
    for d in range(ptr.shape[0]):
        for j in range(ptr[d], ptr[d] + number[d]):
            topic_ptr[topics[j] + 1] += 1
    for k in range(topic_ptr.shape[0] - 1):
        topic_ptr[k + 1] += topic_ptr[k]
    for d in range(ptr.shape[0] - 1, -1, -1):  # from the back: an end is moved down to where its topic starts
        for j in range(ptr[d], ptr[d] + number[d]):
            topic_ptr[topics[j] + 1] -= 1
            at = topic_ptr[topics[j] + 1]
            out.docs[at] = d
            out.share[at] = share[j]
    for k in range(topic_ptr.shape[0] - 1):
        topic_ptr[k] = topic_ptr[k + 1]
    topic_ptr[topic_ptr.shape[0] - 1] = out.docs.shape[0]


@bare_kernel
def values(docs: Range, doc_topics: DocTopics, eta: FloatArray, out: FloatArray) -> None:
    """f [D, C] = Σ_k z̄_dk η_kc of the given documents."""
    ptr, number = doc_topics.ptr, doc_topics.number
    topics, share = doc_topics.topics, doc_topics.share
    for d in range(docs[0], docs[1]):
        row = out[d]
        row[:] = 0.0
        for j in range(ptr[d], ptr[d] + number[d]):
            s, weights = share[j], eta[topics[j]]
            for c in range(row.shape[0]):
                row[c] += s * weights[c]


@bare_kernel
def residuals(
    tasks: Range, pull: FloatArray, curve: FloatArray, value: FloatArray, rest: FloatArray, bend: FloatArray
) -> None:
    """``rest`` = pull − curve f, the slope of the log pseudo-likelihood, and ``bend`` = curve, of some of the tasks."""
    first, stop = tasks
    for d in range(rest.shape[0]):
        for c in range(first, stop):
            rest[d, c - first] = pull[d, c] - curve[d, c] * value[d, c]
            bend[d, c - first] = curve[d, c]


@bare_kernel
def draw_coordinates(
    first: int, topic_docs: TopicDocs, rest: FloatArray, curve: FloatArray, nu: float, n_gibbs: int, key: np.uint64,
    eta: FloatArray, scratch: CoordinateScratch,
) -> None:  # fmt: skip
    """``n_gibbs`` rounds over all weights of the tasks from ``first`` on; keeps ``rest`` = pull − curve f up to date.

    With it a document's part in the linear part of a weight is share · (rest + share · curve · weight), and the second
    term sums up to the weight times a precision that is the same in all rounds.
    """
    topic_ptr, docs, share = topic_docs.ptr, topic_docs.docs, topic_docs.share
    streams, precision, mean, change = scratch.streams, scratch.precision, scratch.mean, scratch.change
    n = eta.shape[1]
    for c in range(n):
        fill_stream(streams[c], combine(key, np.uint64(first + c)))
    for k in range(eta.shape[0]):
        own = precision[k]
        own[:] = 0.0
        for j in range(topic_ptr[k], topic_ptr[k + 1]):
            s, b = share[j] * share[j], curve[docs[j]]
            for c in range(n):
                own[c] += s * b[c]
    for _ in range(n_gibbs):
        for k in range(eta.shape[0]):
            weights, own = eta[k], precision[k]
            mean[:] = 0.0
            for j in range(topic_ptr[k], topic_ptr[k + 1]):
                s, r = share[j], rest[docs[j]]
                for c in range(n):
                    mean[c] += s * r[c]
            for c in range(n):
                whole = nu + own[c]
                new = (mean[c] + own[c] * weights[c]) / whole + normal(streams[c]) / sqrt(whole)
                change[c] = new - weights[c]
                weights[c] = new
            for j in range(topic_ptr[k], topic_ptr[k + 1]):
                s, r, b = share[j], rest[docs[j]], curve[docs[j]]
                for c in range(n):
                    r[c] -= s * b[c] * change[c]


@bare_kernel
def gram(
    c: int, doc_topics: DocTopics, pull: FloatArray, curve: FloatArray, nu: float, matrix: FloatArray,
    linear: FloatArray,
) -> None:  # fmt: skip
    """The precision of task c's weights (its lower triangle) and the linear part of their log density."""
    ptr, number = doc_topics.ptr, doc_topics.number
    topics, share = doc_topics.topics, doc_topics.share
    matrix[:] = 0.0
    linear[:] = 0.0
    for k in range(linear.shape[0]):
        matrix[k, k] = nu
    for d in range(ptr.shape[0]):
        w, p = curve[d, c], pull[d, c]
        for i in range(ptr[d], ptr[d] + number[d]):
            s = share[i]
            row = matrix[topics[i]]
            linear[topics[i]] += s * p
            for j in range(ptr[d], i + 1):  # topics ascend, so this is the lower triangle
                row[topics[j]] += w * s * share[j]


@kernel
def cholesky(a: FloatArray) -> None:
    """The lower factor in place of the lower triangle."""
    for i in range(a.shape[0]):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            a[i, j] = sqrt(max(s, 1e-300)) if i == j else s / a[j, j]


@kernel
def draw_joint(
    tasks: Range, doc_topics: DocTopics, pull: FloatArray, curve: FloatArray, nu: float, key: np.uint64,
    eta: FloatArray,
) -> None:  # fmt: skip
    """All weights of each of some tasks from their joint Gaussian (eq. 22)."""
    n_topics = eta.shape[0]
    stream: UInt64Array = np.empty(4, np.uint64)
    matrix, linear = np.empty((n_topics, n_topics)), np.empty(n_topics)
    for c in range(tasks[0], tasks[1]):
        fill_stream(stream, combine(key, np.uint64(c)))
        gram(c, doc_topics, pull, curve, nu, matrix, linear)
        cholesky(matrix)  # precision = L Lᵀ
        for i in range(n_topics):  # L u = linear
            s = linear[i]
            for j in range(i):
                s -= matrix[i, j] * linear[j]
            linear[i] = s / matrix[i, i]
        for i in range(n_topics):
            linear[i] += normal(stream)
        for i in range(n_topics - 1, -1, -1):  # Lᵀ η = u + normal
            s = linear[i]
            for j in range(i + 1, n_topics):
                s -= matrix[j, i] * linear[j]
            linear[i] = s / matrix[i, i]
        for k in range(n_topics):
            eta[k, c] = linear[k]
