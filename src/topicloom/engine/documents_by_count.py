"""How many documents have at least so many tokens of a topic: all that a prior of documents is learned from.

For each row of α and each topic (a *cell*), t_l documents have at least l tokens of it, for l = 1, 2, …: with a = α_k

    Π_d Γ(a + n_dk)/Γ(a) = Π_l (a + l − 1)^t_l,

so that densities and slopes cost the largest count of each cell, however many documents there are. Cell c is topic
c % K of row c // K.
"""

from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus._streams import document_blocks
from topicloom.corpus.corpus import Corpus
from topicloom.engine.prior import Prior
from topicloom.engine.threads import cut, run_parallel
from topicloom.numerics.jit import kernel, reducing_kernel

_BLOCK = 1 << 20  # tokens that are counted together: 12 bytes each, but never for all of them


class DocumentsByCount(NamedTuple):
    """For each cell, how many documents have at least 1, 2, … tokens of it."""

    ptr: Int64Array  # [rows · K + 1] where each cell's numbers start
    n_docs: Int64Array  # t_1, t_2, … of one cell after the other, up to its largest count


def documents_by_count(corpus: Corpus, z: Any, prior: Prior, n_jobs: int = 1) -> DocumentsByCount:
    """Numbers of documents by their counts; topics that lie in other processes are counted there."""
    if isinstance(z, np.ndarray):
        parts = run_parallel(lambda docs: exact_counts(corpus, z, prior, docs), cut(corpus.doc_lengths, n_jobs), n_jobs)
    else:
        parts = z.exact_counts()
    most = np.max([np.diff(part.ptr) for part in parts], axis=0)
    total = parts[0] if len(parts) == 1 else _widened(parts[0], most)
    for part in parts[1:]:
        np.add(total.n_docs, _widened(part, most).n_docs, out=total.n_docs)
    sum_from_the_end(total)
    return total


def exact_counts(corpus: Corpus, z: AnyArray, prior: Prior, docs: tuple[int, int]) -> DocumentsByCount:
    """Of some documents, how many have exactly 1, 2, … tokens of each cell."""
    n_topics, n_cells = prior.n_topics, prior.alpha.size
    most = np.zeros(n_cells, np.int64)
    exactly = DocumentsByCount(np.zeros(n_cells + 1, np.int64), np.zeros(0, np.int64))
    blocks = [
        (docs[0] + first, docs[0] + last)
        for first, last in document_blocks(corpus.doc_ptr[docs[0] : docs[1] + 1], _BLOCK)
    ]
    room = max(int(np.minimum(corpus.doc_lengths[first:last], n_topics).sum()) for first, last in blocks)
    cell, number = np.empty(room, np.int64), np.empty(room, np.int32)
    for first, last in blocks:
        found = document_cells(
            first, last, corpus.doc_ptr, z, prior.alpha_row, n_topics, cell, number, most
        )  # fmt: skip
        if exactly.ptr[-1] < most.sum():
            exactly = _widened(exactly, most)
        add_counts(cell, number, found, exactly)
    return exactly


def _widened(exactly: DocumentsByCount, most: Int64Array) -> DocumentsByCount:
    """The same numbers with room for counts up to ``most``."""
    ptr = np.concatenate(([0], np.cumsum(most)))
    n_docs = np.zeros(int(ptr[-1]), np.int64)
    places = np.arange(len(exactly.n_docs)) + np.repeat(ptr[:-1] - exactly.ptr[:-1], np.diff(exactly.ptr))
    n_docs[places] = exactly.n_docs
    return DocumentsByCount(ptr, n_docs)


# -- compiled ----------------------------------------------------------------------------------------------------------


@kernel
def document_cells(
    first: int, last: int, doc_ptr: Int64Array, z: AnyArray, row: Int32Array, n_topics: int,
    cell: Int64Array, count: Int32Array, most: Int64Array,
) -> int:  # fmt: skip
    """Each cell with tokens of each document, and how many; returns how many pairs there are.

    ``most`` is raised to the largest count of each cell.
    """
    doc, other = np.zeros(n_topics, np.int32), np.zeros(n_topics, np.int32)
    seen = np.empty(n_topics + 1, np.int64)
    found = 0
    for d in range(first, last):
        start, stop = doc_ptr[d], doc_ptr[d + 1]
        base = np.int64(row[d]) * n_topics
        n_seen = 0
        if stop - start > n_topics:  # tokens in turn to two counts, so that none waits for the last; then all topics
            for i in range(start, stop - 1, 2):
                doc[z[i]] += 1
                other[z[i + 1]] += 1
            if (stop - start) % 2 == 1:
                doc[z[stop - 1]] += 1
            for k in range(n_topics):
                doc[k] += other[k]
                other[k] = 0
                seen[n_seen] = k
                n_seen += doc[k] > 0
        else:
            for i in range(start, stop):
                k = z[i]
                seen[n_seen] = k  # stays there if the topic is a new one; a branch would be guessed wrong too often
                n_seen += doc[k] == 0
                doc[k] += 1
        for s in range(n_seen):
            k = seen[s]
            cell[found] = base + k
            count[found] = doc[k]
            most[base + k] = max(most[base + k], doc[k])
            found += 1
            doc[k] = 0
    return found


@kernel
def add_counts(cell: Int64Array, count: Int32Array, found: int, exactly: DocumentsByCount) -> None:
    """Add to how many documents have exactly so many tokens."""
    ptr, n_docs = exactly.ptr, exactly.n_docs
    for i in range(found):
        n_docs[ptr[cell[i]] + count[i] - 1] += 1


@kernel
def sum_from_the_end(by_count: DocumentsByCount) -> None:
    """From documents with exactly l tokens to those with at least l."""
    ptr, n_docs = by_count.ptr, by_count.n_docs
    for c in range(ptr.shape[0] - 1):
        for i in range(ptr[c + 1] - 2, ptr[c] - 1, -1):
            n_docs[i] += n_docs[i + 1]


@reducing_kernel
def slope(n_docs: Int64Array, a: float) -> float:
    """Σ_d [Ψ(a + n) − Ψ(a)] of one cell: the derivative of log Π_l (a + l − 1)^t_l."""
    total = 0.0
    for i in range(n_docs.shape[0]):
        total += n_docs[i] / (a + i)
    return total


@kernel
def expected_tables(by_count: DocumentsByCount, base: FloatArray, out: FloatArray) -> None:
    """out[c] = a Σ_d [Ψ(a + n) − Ψ(a)]: how many tables documents open at Chinese restaurants, on average."""
    ptr, n_docs = by_count.ptr, by_count.n_docs
    for c in range(out.shape[0]):
        out[c] = base[c] * slope(n_docs[ptr[c] : ptr[c + 1]], base[c]) if ptr[c + 1] > ptr[c] else 0.0
