"""Tables of a Chinese restaurant: how many components a document's tokens of one topic came from (Antoniak 1974).

The l-th token of a topic in a document sits at a table of its own with chance a/(a + l − 1), a being the topic's
Dirichlet parameter. The numbers of tables, summed over documents, are all that a prior of the parameters needs to know
of the topics: compound LDA draws mixtures of collections from them, a hierarchical Dirichlet process its topics'
weights. Documents come as numbers of documents by their counts (``engine.documents_by_count``), so that the cost is
that of the largest count, however many documents there are.
"""

from math import log

import numpy as np

from topicloom._types import FloatArray, Int64Array, UInt64Array
from topicloom.engine.documents_by_count import DocumentsByCount
from topicloom.numerics.jit import kernel
from topicloom.numerics.rng import uniform

_FEW, _LIKELY = 8, 0.1  # trials so few, or so likely, that each is drawn by itself
_NEVER = 1e-300  # a chance that counts as none


@kernel
def binomial(stream: UInt64Array, n: int, p: float) -> int:
    """A binomial variate: trials one by one where they are few or likely, otherwise from success to success."""
    if p < _NEVER or n == 0:
        return 0
    if p >= 1.0:
        return n
    successes = 0
    if n <= _FEW or p > _LIKELY:
        for _ in range(n):
            successes += uniform(stream) < p
        return successes
    scale = 1.0 / np.log1p(-p)
    at = -1.0
    while True:
        at += 1.0 + np.floor(log(1.0 - uniform(stream)) * scale)  # failures before the next success
        if not at < n:  # nor if it is no number
            return successes
        successes += 1


@kernel
def _thinned(stream: UInt64Array, n_docs: Int64Array, first: int, stop: int, a: float) -> int:
    """Tables opened by tokens number ``first`` + 1 to ``stop``, all of which have chances below a/(a + first).

    Candidates come with that chance, from one to the next, and the token numbered l + 1 among them is taken with
    (a + first)/(a + l): one draw for each candidate, however many tokens there are.
    """
    n = 0
    for i in range(first, stop):
        n += n_docs[i]
    p = a / (a + first)
    scale = 1.0 / np.log1p(-p)
    at, tables = -1.0, 0
    i, reached = first, n_docs[first]
    while True:
        at += 1.0 + np.floor(log(1.0 - uniform(stream)) * scale)
        if not at < n:
            return tables
        while at >= reached:
            i += 1
            reached += n_docs[i]
        tables += uniform(stream) * (a + i) < a + first


@kernel
def draw_tables(by_count: DocumentsByCount, base: FloatArray, stream: UInt64Array, out: FloatArray) -> None:
    """out[c] = Σ_d s_jdk (eq. 15): the l-th token of a topic in a document opens a table with chance a/(a + l − 1).

    The first token opens one whatever a is, also where a is too small for that fraction. Where chances are small,
    tokens l to 2l − 1 are drawn for together.
    """
    ptr, n_docs = by_count.ptr, by_count.n_docs
    for c in range(out.shape[0]):
        own, a = n_docs[ptr[c] : ptr[c + 1]], base[c]
        stop = own.shape[0]
        tables = own[0] if stop > 0 else 0
        i = 1
        while i < stop:
            p = a / (a + i)
            if p < _NEVER:
                break
            if p > _LIKELY:
                tables += binomial(stream, own[i], p)
                i += 1
            else:
                end = min(stop, 2 * i)
                tables += _thinned(stream, own, i, end, a)
                i = end
        out[c] = tables
