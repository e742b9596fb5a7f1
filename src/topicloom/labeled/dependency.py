"""Dependency-LDA: labels that go together, learned by an LDA over label sets (Rubin et al. 2012)."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.engine.estimates import with_prior
from topicloom.engine.estimator import parameters
from topicloom.engine.estimator.documented import CHAINS, RUN, TOPICS, documented
from topicloom.engine.threads import threads_for
from topicloom.files.checks import Contents
from topicloom.labeled import stored_checks as _stored_checks
from topicloom.labeled.documented import ATTRIBUTES, SHARED
from topicloom.labeled.model import PriorLDA
from topicloom.lda.model import LDA
from topicloom.lda.variational import batch as variational
from topicloom.numerics.product import product

_TOL, _ROUNDS = 1e-3, 50  # of documents' labels in the label topics
_LEAST = 1e-2  # of a label; with less it does not count toward the label topics


class _LabelTopics(LDA):
    _TOPICS: ClassVar[str] = "label topics (n_label_topics)"


@documented(shared=SHARED, run=RUN, labels=ATTRIBUTES, topics=TOPICS, chains=CHAINS)
class DependencyLDA(PriorLDA):
    """Dependency-LDA: Prior-LDA that learns which labels occur together.

    An LDA with ``n_label_topics`` topics is trained on the label sets: a document's labels are its "words". For a new
    document labels are found as by ``PriorLDA``. Their expected counts, scaled to the number of labels that the
    document is likely to have, are folded into that LDA. Then α_dk = ``frequency_weight`` · Σ_t θ'_dt φ'_tk +
    ``smoothing``/K takes the place of eq. 59, and labels are found again, ``n_rounds`` times.

    Parameters
    ----------
    n_label_topics : int, optional
        Topics of the LDA over label sets. None is a fifth of the labels that occur, from 2 to 100.
    n_rounds : int, default=2
        How often α and the labels of a new document are found anew.
    label_sweeps : int, default=200
        Sweeps of the LDA over label sets.
    frequency_weight : float, default=50
        Weight of the expected labels in α of prediction.
    smoothing : float, default=30
        Weight of a constant in α of prediction.
    {shared}
    {run}

    Attributes
    ----------
    label_topics_ : ndarray of shape (n_label_topics, n_labels)
        φ', the topics over labels.
    {labels}
    {topics}
    {chains}

    See Also
    --------
    PriorLDA : Faster; each label stands for itself.
    LabeledLDA : All labels are equally likely at first.

    References
    ----------
    Rubin, Chambers, Smyth and Steyvers, "Statistical topic models for multi-label document classification", Machine
    Learning 2012.

    Examples
    --------
    >>> from topicloom import DependencyLDA
    >>> texts = ["goal match team", "vote law party", "medal race team"] * 20
    >>> labels = [["ball", "sport"], ["state"], ["athletics", "sport"]] * 20
    >>> model = DependencyLDA(max_iter=40, burn_in=20, label_sweeps=50, random_state=0).fit(texts, labels)
    >>> model.label_topics_.shape
    (2, 4)
    >>> model.predict_labels(["party law"])
    [('state',)]
    """

    label_topics_: FloatArray
    _label_by_word: FloatArray  # [K, T] expected counts plus prior
    _label_alpha: FloatArray

    _CHECKS: ClassVar[Mapping[str, parameters.Check]] = {
        "n_label_topics": parameters.or_none(parameters.whole(1)),
        "n_rounds": parameters.whole(1),
        "label_sweeps": parameters.whole(1),
    }

    @parameters.with_parameters_of(PriorLDA)
    def __init__(
        self, *, n_label_topics: int | None = None, n_rounds: int = 2, label_sweeps: int = 200, **others: Any
    ) -> None:
        super().__init__(**others)
        self.n_label_topics = n_label_topics
        self.n_rounds = n_rounds
        self.label_sweeps = label_sweeps

    def _learn_more(self) -> None:
        """The LDA over label sets."""
        sets = self._training_sets()
        names = tuple(f"label{k}" for k in range(sets.n_labels))
        corpus = Corpus(words=sets.label, doc_ptr=sets.ptr, vocabulary=names)
        n_topics = self.n_label_topics or int(np.clip(np.count_nonzero(self.label_counts_) // 5, 2, 100))
        lda = _LabelTopics(n_topics, topic_word_prior=0.01, max_iter=self.label_sweeps, random_state=self.seed_)
        lda._quiet = self._quiet
        lda.fit(corpus)
        self.interrupted_ = self.interrupted_ or lda.interrupted_  # and can go on to learn them as it should
        self._set_label_topics(lda._by_word, lda.alpha_)

    def _set_label_topics(self, by_word: FloatArray, alpha: FloatArray) -> None:
        self._label_by_word, self._label_alpha = by_word, alpha
        self.label_topics_ = (by_word / by_word.sum(axis=0)).T

    def _last_prior(self, corpus: Corpus) -> tuple[FloatArray, int]:
        alpha, _ = super()._last_prior(corpus)
        for step in range(self.n_rounds):
            alpha = self._own_alpha(corpus, self._fold_with(corpus, alpha, step))
        return alpha, self.n_rounds

    def _own_alpha(self, corpus: Corpus, counts: FloatArray) -> FloatArray:
        """α [D, K] of documents from what the first labels say of their label topics."""
        sizes = self._meta.sizes(corpus.to_matrix(), len(self.classes_))
        total = counts.sum(axis=1, keepdims=True)
        share = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
        weights = share * sizes[:, None]
        docs, labels = np.nonzero(weights > _LEAST)
        ptr = np.concatenate(([0], np.cumsum(np.bincount(docs, minlength=corpus.n_docs))))
        names = tuple(f"label{k}" for k in range(len(self.classes_)))
        as_words = Corpus(words=labels.astype(np.int32), doc_ptr=ptr, vocabulary=names, weights=weights[docs, labels])
        found = variational.fold_in(
            as_words, "cvb0", self._label_by_word, self._label_alpha, tol=_TOL, max_rounds=_ROUNDS,
            n_jobs=threads_for(self.n_jobs),
        )  # fmt: skip
        expected = product(with_prior(found, self._label_alpha), self.label_topics_)
        seen = self.label_counts_ > 0
        smooth = np.where(seen, self.smoothing / np.count_nonzero(seen), 0.0)
        return np.asarray(self.frequency_weight * np.where(seen, expected, 0.0) + smooth)

    def _fitted_numbers(self) -> list[Any]:
        return [*super()._fitted_numbers(), self._label_by_word, self._label_alpha]

    def _own_arrays(self) -> dict[str, AnyArray]:
        return super()._own_arrays() | {"label_by_word": self._label_by_word, "label_alpha": self._label_alpha}

    def _check_own(self, file: Contents) -> None:
        _stored_checks.check_dependency(file, self.n_label_topics)
        super()._check_own(file)

    def _set_own_arrays(self, arrays: dict[str, AnyArray]) -> None:
        super()._set_own_arrays(arrays)
        self._set_label_topics(arrays["label_by_word"], arrays["label_alpha"])
