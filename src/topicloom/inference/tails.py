"""How many documents have at least so many tokens of a topic: all that a prior of documents is learned from."""

from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, Int64Array
from topicloom.corpus._streams import document_blocks
from topicloom.corpus.corpus import Corpus
from topicloom.inference.kernel import Prior
from topicloom.inference.parallel import cut, run_parallel
from topicloom.kernels import mixtures as kernels

_BLOCK = 1 << 20  # tokens that are counted together: 12 bytes each, but never for all of them


class Tails(NamedTuple):
    """For each row of α and each topic, how many documents have at least 1, 2, … tokens of it."""

    ptr: Int64Array  # [rows · K + 1] where each cell's numbers start
    times: Int64Array


def tails(corpus: Corpus, z: AnyArray, prior: Prior, n_jobs: int = 1) -> Tails:
    """Numbers of documents by their counts."""
    n_topics, n_cells = prior.n_topics, prior.alpha.size

    def count(docs: tuple[int, int]) -> Tails:
        """Of some documents, those with exactly so many tokens."""
        most, ptr, times = np.zeros(n_cells, np.int64), np.zeros(n_cells + 1, np.int64), np.zeros(0, np.int64)
        blocks = [
            (docs[0] + first, docs[0] + last)
            for first, last in document_blocks(corpus.doc_ptr[docs[0] : docs[1] + 1], _BLOCK)
        ]
        room = max(int(np.minimum(corpus.doc_lengths[first:last], n_topics).sum()) for first, last in blocks)
        cell, number = np.empty(room, np.int64), np.empty(room, np.int32)
        for first, last in blocks:
            found = kernels.document_cells(
                first, last, corpus.doc_ptr, z, prior.alpha_row, n_topics, cell, number, most
            )  # fmt: skip
            if ptr[-1] < most.sum():
                ptr, times = _widened(Tails(ptr, times), most)
            kernels.add_counts(cell, number, found, ptr, times)
        return Tails(ptr, times)

    parts = run_parallel(count, cut(corpus.doc_lengths, n_jobs), n_jobs)
    most = np.max([np.diff(part.ptr) for part in parts], axis=0)
    ptr, times = parts[0] if len(parts) == 1 else _widened(parts[0], most)
    for part in parts[1:]:
        times += _widened(part, most).times
    kernels.sum_from_the_end(ptr, times)
    return Tails(ptr, times)


def _widened(found: Tails, most: Int64Array) -> Tails:
    """The same numbers with room for counts up to ``most``."""
    ptr = np.concatenate(([0], np.cumsum(most)))
    times = np.zeros(int(ptr[-1]), np.int64)
    times[np.arange(len(found.times)) + np.repeat(ptr[:-1] - found.ptr[:-1], np.diff(found.ptr))] = found.times
    return Tails(ptr, times)
