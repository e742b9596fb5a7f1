"""Documents fitted in tasks of an executor, as Ray's: the numbers are those of this process.

A document's parameters follow from its own words and from the topics, which stay as they are meanwhile. So documents
may be cut into tasks in any way. The topics go out once for all tasks, the pairs of its documents with each. What comes
back is a few numbers per document and one per pair, from which words are added up here in the order that they always
have.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus._executors import Executor
from topicloom.engine.blocks import Range
from topicloom.engine.prior import DocumentPrior
from topicloom.engine.threads import cut
from topicloom.lda.variational import bayes as vb
from topicloom.lda.variational.bayes import Fitted
from topicloom.lda.variational.state import PairIndex, Work
from topicloom.numerics.jit import as_input

_LEAST, _MOST = 1 << 20, 1 << 26  # pairs × topics of a task: worth a journey, and no load for a worker
_PER_WORKER = 2  # tasks, where there is enough for them, so that workers finish together


class Task(NamedTuple):
    """Some documents: their pairs, their rows of α, and where they start."""

    ptr: Int64Array  # [D + 1]
    word: Int32Array  # [M]
    count: FloatArray  # type: ignore[assignment]  # [M]
    alpha_row: Int32Array  # [D]
    doc: FloatArray  # [D, K]


def parts_for(executor: Executor, ptr: Int64Array, n_topics: int) -> list[Range]:
    """Documents in parts, one for each task. One part is quicker done here."""
    load = int(ptr[-1]) * n_topics
    wanted = max(_PER_WORKER * executor.n_workers, load // _MOST)
    return cut(np.diff(ptr), max(1, min(wanted, load // _LEAST)))


def fit_in_tasks(
    executor: Executor, parts: list[Range], pairs: PairIndex, topics: FloatArray, prior: DocumentPrior, plain: bool,
    work: Work, doc: FloatArray, out: Fitted,
) -> None:  # fmt: skip
    """As ``bayes.fit_documents`` of all parts: to ``doc`` and ``out``."""

    def task(start: int, stop: int) -> Task:
        own = slice(int(pairs.ptr[start]), int(pairs.ptr[stop]))
        return Task(
            pairs.ptr[start : stop + 1] - pairs.ptr[start], pairs.word[own], pairs.count[own],
            prior.alpha_row[start:stop], doc[start:stop],
        )  # fmt: skip

    fit = partial(_fit, topics, prior.alpha, plain, work._replace(n_jobs=1))
    results = executor.map(fit, (task(*part) for part in parts))
    for (start, stop), (rows, found) in zip(parts, results, strict=True):
        doc[start:stop] = rows
        for array, own in zip(out, found, strict=True):
            at = slice(int(pairs.ptr[start]), int(pairs.ptr[stop])) if array is out.scale else slice(start, stop)
            array[at] = own


def _fit(topics: FloatArray, alpha: FloatArray, plain: bool, work: Work, task: Task) -> tuple[FloatArray, Fitted]:
    """What a task is: the parameters of its documents, and what they leave."""
    ptr, word, count = as_input(task.ptr), as_input(task.word), as_input(task.count)
    topics, doc = _own(topics), _own(task.doc)
    n_docs, n_topics = doc.shape
    out = Fitted(np.empty_like(doc), np.empty(len(word)), np.empty(n_docs), np.empty(n_docs))
    pairs = PairIndex(ptr, word, count, word, ptr, ptr)  # the order by word is not needed
    prior, sums, before = (
        DocumentPrior(as_input(alpha), as_input(task.alpha_row)),
        np.empty(n_topics),
        np.empty(n_topics),
    )
    vb.fit_documents(0, n_docs, pairs, topics, prior, plain, work, doc, out, sums, before)
    return doc, out


def _own(array: AnyArray) -> AnyArray:
    """An array that can be written to, as compiled code has it: what arrives from other processes cannot."""
    return array if array.flags.writeable and array.flags.c_contiguous else np.array(array)
