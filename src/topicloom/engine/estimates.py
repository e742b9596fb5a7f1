"""Estimates of θ and φ from assignments: functions of (corpus, state, prior), whatever sampler made the state.

Both estimators add the prior to expected topic counts and normalise. ``standard`` takes the drawn topics as they are
(CGS_p eqs. 2, 3); ``cgs_p`` takes every token's full conditional in place of its drawn topic (eqs. 33, 40, 41), which
averages over all states that differ from the sample in one token. Averages over samples are sums of such counts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import check_choice
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Block, tokens_of, whole
from topicloom.engine.counts import document_counts
from topicloom.engine.prior import Prior
from topicloom.engine.soft_counts import add_soft_counts, dense_scratch
from topicloom.engine.state import AnyState, State, rebuild_counts
from topicloom.engine.threads import cut, resolve_jobs, run_parallel
from topicloom.errors import InputError, counted

Estimator = Literal["standard", "cgs_p"]
ESTIMATORS: tuple[Estimator, ...] = ("standard", "cgs_p")
_NONE = np.zeros((0, 0))


@dataclass
class Counts:
    """Topic counts of documents and of words, summed over samples. Counts of several samples can be added.

    Attributes
    ----------
    doc : array of float, shape (n_docs, n_topics), or None
        Topic counts of each document. Of a sampler over documents' labels, one entry per label of each document.
    word : array of float, shape (n_words, n_topics), or None
        Topic counts of each word.
    n_samples : int
        Number of samples.
    eta : array of float, shape (n_topics, n_classes), or None
        Weights of a supervised model, summed as well.

    Examples
    --------
    >>> import numpy as np
    >>> from topicloom import estimates
    >>> one = estimates.Counts(np.ones((2, 3)), np.ones((4, 3)))
    >>> (one + one).n_samples
    2
    """

    doc: FloatArray | None  # [D, K]; of a sampler over documents' labels, one entry for each label of each document
    word: FloatArray | None  # [V, K]
    n_samples: int = 1
    eta: FloatArray | None = None  # [K, C] a supervised model's weights, summed as well

    def __add__(self, other: "Counts") -> "Counts":
        def add(a: FloatArray | None, b: FloatArray | None) -> FloatArray | None:
            return None if a is None or b is None else a + b

        return Counts(
            add(self.doc, other.doc),
            add(self.word, other.word),
            self.n_samples + other.n_samples,
            add(self.eta, other.eta),
        )

    def to_arrays(self) -> dict[str, AnyArray]:
        """What a checkpoint has of it."""
        return {name: a for name, a in (("doc", self.doc), ("word", self.word), ("eta", self.eta)) if a is not None}


def topic_counts(
    corpus: Corpus,
    state: AnyState,
    prior: Prior,
    estimator: Estimator = "cgs_p",
    *,
    docs: bool = True,
    words: bool = True,
    n_jobs: int = 1,
) -> Counts:
    """Expected topic counts of documents and of words, by one of the two estimators.

    Parameters
    ----------
    corpus : Corpus
    state : State
        Assignments of one sample.
    prior : Prior
        The prior that the sample was drawn with.
    estimator : {"cgs_p", "standard"}, default="cgs_p"
        "standard" counts the drawn topics. "cgs_p" adds every token's full conditional in place of its topic.
    docs, words : bool, default=True
        Whether to count by document, and by word.
    n_jobs : int, default=1
        Threads. The result is the same, bit for bit.

    Returns
    -------
    Counts

    Examples
    --------
    >>> from topicloom import estimates, from_texts
    >>> from topicloom.engine.prior import make_prior
    >>> corpus = from_texts(["goal match", "vote vote"])
    >>> prior = make_prior([0.1, 0.1], [0.01] * 3, n_docs=2)
    >>> state = estimates.from_assignments(corpus.words, corpus.token_docs, [0, 0, 1, 1], prior, corpus)
    >>> estimates.topic_counts(corpus, state, prior, "standard").doc.tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    check_choice("estimator", estimator, ESTIMATORS)
    shape = (corpus.n_docs, prior.n_topics)
    if estimator == "standard":
        doc = np.empty(shape) if docs else None
        if doc is not None:
            document_counts(corpus.doc_ptr, state.z, doc)
        return Counts(doc, state.as_dense().word_topic.astype(np.float64) if words else None)
    counted = state.as_dense()

    def add(block: Block, doc: FloatArray, word: FloatArray) -> None:
        keys = np.empty(int(corpus.doc_lengths[block.doc_start : block.doc_stop].max(initial=0)), np.int64)
        add_soft_counts(block, tokens_of(corpus), counted, prior, doc, word, dense_scratch(prior), keys)

    return soft_topic_counts(corpus, prior, add, docs=docs, words=words, n_jobs=n_jobs)


def soft_topic_counts(
    corpus: Corpus,
    prior: Prior,
    add: Callable[[Block, FloatArray, FloatArray], None],
    *,
    docs: bool,
    words: bool,
    n_jobs: int,
) -> Counts:
    """Expected topic counts that a function of yours adds up, block by block.

    Parameters
    ----------
    corpus : Corpus
    prior : Prior
    add : callable
        ``add(block, doc, word)`` adds the counts of a block of documents and words. Outputs without rows are unused.
    docs, words : bool
        Whether to count by document, and by word.
    n_jobs : int
        Threads.

    Returns
    -------
    Counts

    Examples
    --------
    >>> from topicloom import estimates, from_texts
    >>> from topicloom.engine.prior import make_prior
    >>> corpus = from_texts(["goal match", "vote vote"])
    >>> prior = make_prior([0.1, 0.1], [0.01] * 3, n_docs=2)
    >>> def add(block, doc, word):
    ...     doc[block.doc_start : block.doc_stop] += 1.0
    >>> estimates.soft_topic_counts(corpus, prior, add, docs=True, words=False, n_jobs=1).doc.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    doc = np.zeros((corpus.n_docs, prior.n_topics)) if docs else None
    word = np.zeros((corpus.n_words, prior.n_topics)) if words else None

    def run(task: tuple[Block, FloatArray | None, FloatArray | None]) -> None:
        block, *outputs = task
        add(block, *(_NONE if output is None else output for output in outputs))

    n_jobs = resolve_jobs(n_jobs)
    if n_jobs == 1:
        run((whole(corpus), doc, word))
    else:
        # Two passes, one with documents and one with words owned by a thread, so that no two write to one row.
        by_doc = cut(corpus.doc_lengths, 4 * n_jobs) if docs else []
        by_word = cut(corpus.word_counts, n_jobs) if words else []
        docs_tasks = [(Block(lo, hi, 0, corpus.n_words), doc, None) for lo, hi in by_doc]
        word_tasks = [(Block(0, corpus.n_docs, lo, hi), None, word) for lo, hi in by_word]
        run_parallel(run, [*docs_tasks, *word_tasks], n_jobs)
    return Counts(doc, word)


def theta(counts: FloatArray, n_samples: int, corpus: Corpus, prior: Prior) -> FloatArray:
    """Topic probabilities θ of documents, from summed counts (CGS_p, equations 3, 33, 40).

    Parameters
    ----------
    counts : array of float, shape (n_docs, n_topics)
        ``Counts.doc``.
    n_samples : int
        Number of samples in ``counts``.
    corpus : Corpus
    prior : Prior

    Returns
    -------
    array of float, shape (n_docs, n_topics)
        Rows sum to 1. An empty document has the prior's mean.

    Examples
    --------
    >>> import numpy as np
    >>> from topicloom import estimates, from_texts
    >>> from topicloom.engine.prior import make_prior
    >>> corpus = from_texts(["goal match", "vote vote"])
    >>> prior = make_prior([1.0, 1.0], [0.01] * 3, n_docs=2)
    >>> estimates.theta(np.array([[2.0, 0.0], [0.0, 2.0]]), 1, corpus, prior).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    out: FloatArray = counts / n_samples
    out += prior.alpha[0] if len(prior.alpha) == 1 else prior.alpha[prior.alpha_row]  # no array more where α is one row
    out /= out.sum(axis=1, keepdims=True)
    return out


def phi(counts: FloatArray, n_samples: int, prior: Prior) -> FloatArray:
    """Word probabilities φ of topics, from summed counts (CGS_p, equations 2, 41).

    Parameters
    ----------
    counts : array of float, shape (n_words, n_topics)
        ``Counts.word``.
    n_samples : int
        Number of samples in ``counts``.
    prior : Prior

    Returns
    -------
    array of float, shape (n_words, n_topics)
        Each column is a topic and sums to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from topicloom import estimates
    >>> from topicloom.engine.prior import make_prior
    >>> prior = make_prior([1.0, 1.0], [1.0, 1.0], n_docs=1)
    >>> estimates.phi(np.array([[2.0, 0.0], [0.0, 2.0]]), 1, prior).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    out = pseudo_counts(counts, n_samples, prior)
    out /= out.sum(axis=0)
    return out


def pseudo_counts(counts: FloatArray, n_samples: int, prior: Prior) -> FloatArray:
    """Mean counts plus the prior β, without normalisation.

    Parameters
    ----------
    counts : array of float, shape (n_words, n_topics)
        ``Counts.word``.
    n_samples : int
        Number of samples in ``counts``.
    prior : Prior

    Returns
    -------
    array of float, shape (n_words, n_topics)

    Examples
    --------
    >>> import numpy as np
    >>> from topicloom import estimates
    >>> from topicloom.engine.prior import make_prior
    >>> prior = make_prior([1.0, 1.0], [0.5, 0.5], n_docs=1)
    >>> estimates.pseudo_counts(np.array([[4.0, 0.0], [0.0, 4.0]]), 2, prior).tolist()
    [[2.5, 0.5], [0.5, 2.5]]
    """
    out: FloatArray = counts / n_samples
    out += prior.beta[:, None]
    seeded = np.flatnonzero(prior.boost_row >= 0)
    out[seeded] += prior.boost[prior.boost_row[seeded]]
    return out


def with_prior(counts: FloatArray, alpha: FloatArray) -> FloatArray:
    """Rows of counts + α, normalised.

    Parameters
    ----------
    counts : array of float, shape (n_docs, n_topics)
    alpha : array of float, shape (n_topics,)

    Returns
    -------
    array of float, shape (n_docs, n_topics)

    Examples
    --------
    >>> import numpy as np
    >>> from topicloom import estimates
    >>> estimates.with_prior(np.array([[2.0, 0.0]]), np.array([1.0, 1.0])).tolist()
    [[0.75, 0.25]]
    """
    out = counts + alpha
    out /= out.sum(axis=1, keepdims=True)
    return out


def label_prior(prior: Prior, labels: Any, classes: Any = None) -> Prior:
    """The prior of topics that stand for labels, where a document's tokens may only have its own labels.

    α of a document is that of ``prior`` for its labels and 0 for all others. So estimates of θ have no share of other
    labels, and dense estimates take each token's conditional over the labels of its document alone, as ``LabeledLDA``
    does. ``from_assignments`` refuses a token with another label.

    Parameters
    ----------
    prior : Prior
        One α for all documents, of one topic per label.
    labels : list of lists, or matrix of 0 and 1
        Labels of each document, or documents × labels. A document without labels may have every topic.
    classes : sequence, optional
        The label that each topic stands for. By default labels are the numbers of topics, from 0.

    Returns
    -------
    Prior

    Examples
    --------
    >>> from topicloom import estimates, from_texts
    >>> from topicloom.engine.prior import make_prior
    >>> corpus = from_texts(["goal match goal", "vote goal"])
    >>> prior = make_prior([0.1, 0.1], [0.01] * 3, n_docs=2)
    >>> prior = estimates.label_prior(prior, [["sport"], ["sport", "news"]], ["news", "sport"])
    >>> state = estimates.from_assignments(corpus.words, corpus.token_docs, [1, 1, 1, 0, 1], prior, corpus)
    >>> counts = estimates.topic_counts(corpus, state, prior, "cgs_p")
    >>> estimates.theta(counts.doc, 1, corpus, prior)[0].tolist()
    [0.0, 1.0]
    """
    from topicloom.engine.estimator.label_sets import true_labels

    n_docs, k = len(prior.alpha_row), prior.n_topics
    names = np.arange(k) if classes is None else np.asarray(classes)
    if names.shape != (k,):
        raise InputError(f"classes has shape {names.shape}; give the label of each of {k} topics.")
    if len(prior.alpha) != 1:
        raise InputError(f"the prior has {len(prior.alpha)} rows of α; label_prior takes one α for all documents.")
    own = true_labels(labels, n_docs, names)
    if own.shape[1] > k:
        d = int(np.argmax(own[:, k:].any(axis=1)))
        what = f"a number from 0 to {k - 1}" if classes is None else "one of classes"
        raise InputError(f"document {d} has a label that no topic stands for; expected {what}.")
    own[~own.any(axis=1)] = True
    rows, row_of = np.unique(np.packbits(own, axis=1), axis=0, return_inverse=True)
    sets = np.unpackbits(rows, axis=1, count=k)
    return prior._replace(
        alpha=np.ascontiguousarray(sets * prior.alpha[0]), alpha_row=row_of.reshape(-1).astype(np.int32)
    )


def from_assignments(words: AnyArray, docs: AnyArray, z: AnyArray, prior: Prior, corpus: Corpus) -> State:
    """State from another tool's plain arrays: word, document and topic number of each token, in any order.

    Parameters
    ----------
    words, docs, z : array of int, shape (n_tokens,)
        Word, document and topic of each token.
    prior : Prior
        The prior of the tool. One of labels (:func:`label_prior`) restricts the topics of each document.
    corpus : Corpus
        The same corpus here; each (document, word) must occur as often in both.

    Returns
    -------
    State
        Give it to :func:`topic_counts` to make estimates.

    Raises
    ------
    InputError
        If the tokens are not those of the corpus, or a topic does not exist or is not allowed in its document.

    Examples
    --------
    >>> from topicloom import estimates, from_texts
    >>> from topicloom.engine.prior import make_prior
    >>> corpus = from_texts(["goal match", "vote vote"])
    >>> prior = make_prior([0.1, 0.1], [0.01] * 3, n_docs=2)
    >>> state = estimates.from_assignments([2, 2, 0, 1], [1, 1, 0, 0], [1, 1, 0, 0], prior, corpus)
    >>> state.topic.tolist()
    [2, 2]
    """
    words, docs, z = (np.asarray(a) for a in (words, docs, z))
    for name, a in (("docs", docs), ("z", z)):
        if a.shape != words.shape:
            raise InputError(
                f"{name} has shape {a.shape}, words has {words.shape}; one entry per token is expected in each."
            )
    for name, a, size in (
        ("words", words, corpus.n_words),
        ("docs", docs, corpus.n_docs),
        ("z", z, prior.n_topics),
    ):
        if a.dtype.kind not in "iu" or (len(a) and (a.min() < 0 or a.max() >= size)):
            raise InputError(f"{name} must hold whole numbers from 0 to {size - 1}.")
    _check_allowed(docs, z, prior)
    ours = np.lexsort((corpus.words, corpus.token_docs))
    theirs = np.lexsort((words, docs))
    if (
        len(words) != corpus.n_tokens
        or np.any(words[theirs] != corpus.words[ours])
        or np.any(docs[theirs] != corpus.token_docs[ours])
    ):
        raise InputError(
            f"the assignments cover {len(words)} tokens that do not match the corpus's {corpus.n_tokens}: "
            "each document must have the same words, as often, in both."
        )
    aligned = np.empty(len(z), z.dtype)
    aligned[ours] = z[theirs]
    return rebuild_counts(corpus, aligned, prior.n_topics)


def _check_allowed(docs: AnyArray, z: AnyArray, prior: Prior) -> None:
    """Whether each token has a topic that its document may have."""
    if len(prior.alpha_row) <= docs.max(initial=-1) or np.all(prior.alpha > 0):
        return
    wrong = np.flatnonzero(prior.alpha[prior.alpha_row[docs], z] <= 0)
    if len(wrong):
        at = int(wrong[0])
        raise InputError(
            f"{counted(len(wrong), 'tokens')} have a topic that their documents may not have, for instance topic "
            f"{z[at]} in document {docs[at]}: α is 0 there, as it is for labels that are not the document's own. Give "
            "the labels that the sampler had."
        )
