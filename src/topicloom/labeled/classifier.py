"""What labeled models do once they are fitted: scores, probabilities and label sets of new documents, files."""

from typing import Any, ClassVar, Unpack

import numpy as np
from sklearn.utils.validation import check_is_fitted

from topicloom._types import AnyArray, BoolArray, FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.inputs import Reading
from topicloom.engine.estimates import Counts, Estimator, pseudo_counts, with_prior
from topicloom.engine.estimator import label_sets as _labels
from topicloom.engine.estimator.explained import Parts, Target, parts_of_shares
from topicloom.engine.estimator.label_sets import LabelSets
from topicloom.engine.estimator.names import Names
from topicloom.engine.estimator.reported import ReportedLabels
from topicloom.engine.estimator.topics import TopicModel
from topicloom.engine.prior import Prior
from topicloom.engine.run import Chain
from topicloom.engine.sampler import Sampler
from topicloom.engine.threads import threads_for
from topicloom.engine.word_topics import sums_of_documents
from topicloom.files.checks import Contents
from topicloom.files.directories import Part
from topicloom.files.manifests import LABELS
from topicloom.labeled import labels as _label_files
from topicloom.labeled import stored_checks as _stored_checks
from topicloom.labeled.calibration import Calibration
from topicloom.labeled.label_rules import CHOSEN, MetaLabeler, above, best_labels, proportional
from topicloom.lda.variational import batch as variational
from topicloom.numerics.rng import path_key

_TIES = 1e-9  # share of α by which labels of equal counts are ranked
_TOL, _ROUNDS = 1e-4, 100  # of CVB0 on new documents


class LabelClassifier(ReportedLabels, TopicModel):
    """A fitted model whose topics are labels. Subclasses bring the parameters and ``fit``."""

    _PUBLISHES: ClassVar[tuple[str, ...]] = ("best",)  # the mean of all chains
    _LABELS = "label"
    _TARGET: ClassVar[str | None] = "label"

    method: str
    ranking: str
    label_rule: str
    n_labels: int | None

    classes_: AnyArray
    label_counts_: AnyArray
    unlabeled_docs_: BoolArray
    threshold_: float
    _rule_scores: FloatArray  # micro-F1 on held-out documents of the rules that "auto" chooses from
    _sets: LabelSets | None
    _n_labelled: int
    _meta: MetaLabeler
    _calibration: Calibration | None

    def _prior(self, corpus: Corpus, sets: LabelSets) -> Prior:
        raise NotImplementedError

    def _sampler_for(self, corpus: Corpus, sets: LabelSets, prior: Prior) -> Sampler:
        raise NotImplementedError

    def _own_names(self) -> Names:
        return tuple(map(str, self.classes_.tolist()))

    @property
    def label_rule_(self) -> str:
        """What ``label_rule="auto"`` stands for."""
        return CHOSEN[int(np.argmax(self._rule_scores))] if len(self._rule_scores) else CHOSEN[0]

    # -- what was learned ----------------------------------------------------------------------------------------

    def _mean_word_counts(self, estimator: Estimator | None = None) -> FloatArray:
        """Expected counts plus β by word [V, K], the mean over samples and chains; by an estimator, of last states."""
        total, n = np.zeros((len(self.vocabulary_), len(self.classes_))), 0
        for chain in self.chains_:
            counts = self._counts_of(chain, estimator, docs=False)
            assert counts.word is not None
            total += counts.word
            n += counts.n_samples
        return pseudo_counts(total, n, self.chains_[0].prior)

    def _counts_of(self, chain: Chain, estimator: Estimator | None, docs: bool = True) -> Counts:
        return (chain.kept if estimator is None else None) or self._final_counts(chain, docs=docs, estimator=estimator)

    def _word_counts_of(self, chain: Chain) -> FloatArray:
        counts = self._counts_of(chain, None, docs=False)
        assert counts.word is not None
        return pseudo_counts(counts.word, counts.n_samples, chain.prior)

    def _doc_topic_of(self, chain: Chain) -> FloatArray:
        return self._mean_doc_topics(None)

    def _mean_doc_topics(self, estimator: Estimator | None) -> FloatArray:
        """θ [D, K] of the training documents over their own labels; without labels, the prior of prediction."""
        sets = self._training_sets()
        total, n = np.zeros(len(sets.label)), 0
        for chain in self.chains_:
            counts = self._counts_of(chain, estimator)
            assert counts.doc is not None
            total += counts.doc
            n += counts.n_samples
        rows = np.repeat(np.arange(sets.n_docs), sets.sizes)
        out = np.tile(self.alpha_, (sets.n_docs, 1))
        out[sets.sizes > 0] = 0.0
        out[rows, sets.label] = total / n + self.chains_[0].prior.alpha[0, sets.label]
        return with_prior(out, np.zeros(sets.n_labels))

    def estimate(self, estimator: Estimator) -> tuple[FloatArray, FloatArray]:
        """θ and φ of the training corpus by either estimator, from the last states of the chains.

        Parameters
        ----------
        estimator : {"standard", "cgs_p"}
            "standard" counts drawn labels, "cgs_p" the probabilities of each token's labels.

        Returns
        -------
        doc_topic : ndarray of shape (n_documents, n_labels)
            θ of the training documents.
        topic_word : ndarray of shape (n_labels, n_words)
            φ: the words of each label.

        Examples
        --------
        >>> from topicloom import LabeledLDA
        >>> model = LabeledLDA(random_state=0).fit(["goal team", "law party"] * 20, ["sport", "state"] * 20)
        >>> theta, phi = model.estimate("cgs_p")
        >>> theta.shape, phi.shape
        ((40, 2), (2, 4))
        """
        by_word = self._mean_word_counts(estimator)
        return self._mean_doc_topics(estimator), (by_word / by_word.sum(axis=0)).T

    def _training_sets(self) -> LabelSets:
        if self._sets is None:
            classes, sets = _label_files.load_labels(self._stored_in(), self.corpus_)
            _stored_checks.check_same_labels(self._stored_in().path(LABELS), self, classes, sets)
            self._sets = sets
        return self._sets

    def _rates(self) -> FloatArray:
        """Share of the labelled training documents that has each label, never quite 0 or 1."""
        rates: FloatArray = (self.label_counts_ + 0.5) / (self._n_labelled + 1.0)
        return rates

    # -- new documents -------------------------------------------------------------------------------------------

    def _transform(self, corpus: Corpus) -> FloatArray:
        counts, alpha = self._fold_all(corpus)
        return with_prior(counts, alpha)

    @property
    def _samples(self) -> bool:
        return self.method == "gibbs"

    def _fold(self, corpus: Corpus) -> FloatArray:
        return self._fold_all(corpus)[0]

    def _fold_all(self, corpus: Corpus) -> tuple[FloatArray, FloatArray]:
        """Expected counts [D, K] of each label, and the α [K] or [D, K] that they were found with."""
        alpha, step = self._last_prior(corpus)
        return self._fold_with(corpus, alpha, step), alpha

    def _last_prior(self, corpus: Corpus) -> tuple[FloatArray, int]:
        """The α [K] or [D, K] under which labels are found, and the number of the step that finds them."""
        return self.alpha_, 0

    def _fold_with(self, corpus: Corpus, alpha: FloatArray, step: int) -> FloatArray:
        """Expected label counts under α [K], or [D, K] with a row per document; each step has streams of its own."""
        rows = np.arange(corpus.n_docs, dtype=np.int32) if alpha.ndim == 2 else None
        if self.method == "cvb0":
            return variational.fold_in(corpus, "cvb0", self._by_word, alpha, alpha_row=rows, **self._rounds())
        return self._expected_counts(corpus, self._phi_by_word, alpha, rows, int(path_key(self.seed_, step)))

    def _label_targets(self) -> list[Target]:
        return [Target(name, k) for k, name in enumerate(self.classes_.tolist())]

    def _label_parts(self, corpus: Corpus) -> Parts:
        """Of ``decision_function``; a probability is divided as the label's share of the document is."""
        alpha, topics = self._last_word_topics(corpus)
        shares = parts_of_shares(corpus, topics, alpha * self._share_of_prior())
        if self.ranking != "probability":
            return shares
        counts = sums_of_documents(corpus.pairs.ptr, topics)
        return shares.scaled(corpus, self._probability(counts), self._scores_by_share(counts, alpha))

    def _topic_parts(self, corpus: Corpus) -> Parts:
        alpha, topics = self._last_word_topics(corpus)
        return parts_of_shares(corpus, topics, alpha)

    def _last_word_topics(self, corpus: Corpus) -> tuple[FloatArray, FloatArray]:
        """α as of ``_fold_all``, and expected counts [M, K] of labels by distinct word."""
        alpha, step = self._last_prior(corpus)
        rows = np.arange(corpus.n_docs, dtype=np.int32) if alpha.ndim == 2 else None
        if self.method == "cvb0":
            own = self._rounds()
            return alpha, variational.word_topics(corpus, "cvb0", self._by_word, alpha, alpha_row=rows, **own)
        seed = int(path_key(self.seed_, step))
        return alpha, self._expected_word_topics(corpus, self._phi_by_word, alpha, rows, seed)

    def _rounds(self) -> dict[str, Any]:
        return {"tol": _TOL, "max_rounds": _ROUNDS, "n_jobs": threads_for(self.n_jobs)}

    def decision_function(self, X: Any, **reading: Unpack[Reading]) -> FloatArray:
        """Scores by which labels are ranked, as ``ranking`` says: probabilities, or shares of each document.

        Parameters
        ----------
        X : texts, a matrix of counts, a data frame or a Corpus
            Documents, as in ``fit``.
        **reading
            How ``X`` is read, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_documents, n_labels)
            Columns are as in ``classes_``. Labels that training never saw have 0.

        Examples
        --------
        >>> from topicloom import LabeledLDA
        >>> model = LabeledLDA(random_state=0).fit(["goal team", "law party"] * 20, ["sport", "state"] * 20)
        >>> model.decision_function(["team goal"]).round(2)
        array([[1., 0.]])
        """
        check_is_fitted(self, "seed_")
        return self._scores(*self._fold_all(self._new_corpus(X, reading)))

    def _scores(self, counts: FloatArray, alpha: FloatArray) -> FloatArray:
        return self._probability(counts) if self.ranking == "probability" else self._scores_by_share(counts, alpha)

    def _scores_by_share(self, counts: FloatArray, alpha: FloatArray) -> FloatArray:
        return with_prior(counts, alpha * self._share_of_prior())

    def _share_of_prior(self) -> float:
        """How much of α is in the scores."""
        return 1.0 if self.ranking == "theta" else _TIES

    def predict_proba(self, X: Any, **reading: Unpack[Reading]) -> FloatArray:
        """Probability of each label that a document has it, calibrated on held-out documents.

        Parameters
        ----------
        X : texts, a matrix of counts, a data frame or a Corpus
            Documents, as in ``fit``.
        **reading
            How ``X`` is read, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_documents, n_labels)
            Columns are as in ``classes_``. Rows need not sum to 1: a document may have several labels.

        Examples
        --------
        >>> from topicloom import LabeledLDA
        >>> model = LabeledLDA(random_state=0).fit(["goal team", "law party"] * 20, ["sport", "state"] * 20)
        >>> bool(model.predict_proba(["team goal"])[0, 0] > 0.9)
        True
        """
        check_is_fitted(self, "seed_")
        return self._probability(self._fold(self._new_corpus(X, reading)))

    def _probability(self, counts: FloatArray) -> FloatArray:
        rates = self._rates()
        if self._calibration is None:  # shares, with one pseudo-count as the frequencies have it
            p = with_prior(counts, rates / rates.sum())
        else:
            p = self._calibration.probability(counts, rates)
        p[:, self.label_counts_ == 0] = 0.0
        return p

    def predict(self, X: Any, **reading: Unpack[Reading]) -> AnyArray:
        """Label sets of documents, by ``label_rule``.

        Parameters
        ----------
        X : texts, a matrix of counts, a data frame or a Corpus
            Documents, as in ``fit``.
        **reading
            How ``X`` is read, as in ``fit``.

        Returns
        -------
        ndarray of int, shape (n_documents, n_labels)
            1 for each predicted label. Columns are as in ``classes_``.

        Examples
        --------
        >>> from topicloom import LabeledLDA
        >>> model = LabeledLDA(random_state=0).fit(["goal team", "law party"] * 20, ["sport", "state"] * 20)
        >>> model.predict(["team goal", "party law"])
        array([[1, 0],
               [0, 1]])
        """
        check_is_fitted(self, "seed_")
        corpus = self._new_corpus(X, reading)
        return self._predict(corpus, *self._fold_all(corpus)).astype(np.int64)

    def _predict(self, corpus: Corpus, counts: FloatArray, alpha: FloatArray) -> BoolArray:
        seen = self.label_counts_ > 0
        rule = self.label_rule_ if self.label_rule == "auto" else self.label_rule
        if rule == "threshold":
            return above(self._probability(counts), self.threshold_) & seen
        if rule == "proportional":
            return proportional(self._probability(counts), self.label_counts_ / self._n_labelled)
        most = int(seen.sum())
        if rule == "meta":
            sizes = self._meta.sizes(corpus.to_matrix(), most)
        else:
            mean = self.label_counts_.sum() / self._n_labelled
            sizes = np.full(corpus.n_docs, min(self.n_labels or max(round(mean), 1), most))
        return best_labels(np.where(seen, self._scores(counts, alpha), -1.0), sizes)

    def _predictions(self, corpus: Corpus) -> tuple[BoolArray, FloatArray | None]:
        counts, alpha = self._fold_all(corpus)
        return self._predict(corpus, counts, alpha), self._probability(counts)

    def predict_labels(self, X: Any, **reading: Unpack[Reading]) -> list[tuple[Any, ...]]:
        """Names of the predicted labels, best first.

        Parameters
        ----------
        X : texts, a matrix of counts, a data frame or a Corpus
            Documents, as in ``fit``.
        **reading
            How ``X`` is read, as in ``fit``.

        Returns
        -------
        list of tuple
            The labels of each document.

        Examples
        --------
        >>> from topicloom import LabeledLDA
        >>> model = LabeledLDA(random_state=0).fit(["goal team", "law party"] * 20, ["sport", "state"] * 20)
        >>> model.predict_labels(["team goal", "party law"])
        [('sport',), ('state',)]
        """
        check_is_fitted(self, "seed_")
        corpus = self._new_corpus(X, reading)
        counts, alpha = self._fold_all(corpus)
        chosen, scores = self._predict(corpus, counts, alpha), self._scores(counts, alpha)
        names = self.classes_.tolist()
        order = np.argsort(-scores, axis=1, kind="stable")
        return [tuple(names[k] for k in row if chosen[d, k]) for d, row in enumerate(order.tolist())]

    def score(self, X: Any, y: Any = None, **reading: Unpack[Reading]) -> float:
        """Micro-F1 of the predicted label sets.

        Parameters
        ----------
        X : texts, a matrix of counts, a data frame or a Corpus
            Documents, as in ``fit``.
        y : label sets, optional
            The true labels, as in ``fit``. None takes those of the documents. Labels that training never saw count as
            missed.
        **reading
            How ``X`` is read, as in ``fit``.

        Returns
        -------
        float
            From 0 to 1.

        Examples
        --------
        >>> from topicloom import LabeledLDA
        >>> model = LabeledLDA(random_state=0).fit(["goal team", "law party"] * 20, ["sport", "state"] * 20)
        >>> model.score(["team goal", "party law"], [["sport"], ["state"]])
        1.0
        """
        check_is_fitted(self, "seed_")
        corpus = self._new_corpus(X, reading, roles=("label",) if y is None else ())
        truth = _labels.true_labels(corpus.labels if y is None else y, corpus.n_docs, self.classes_)
        return _labels.micro_f1(truth, self._predict(corpus, *self._fold_all(corpus)))

    def perplexity(self, X: Any, **reading: Unpack[Reading]) -> float:
        """Held-out perplexity by document completion.

        Labels are found from one half of each document, and the words of the other half are scored.

        Parameters
        ----------
        X : texts, a matrix of counts, a data frame or a Corpus
            Documents, as in ``fit``.
        **reading
            How ``X`` is read, as in ``fit``.

        Returns
        -------
        float
            Lower is better.

        Examples
        --------
        >>> from topicloom import LabeledLDA
        >>> model = LabeledLDA(random_state=0).fit(["goal team", "law party"] * 20, ["sport", "state"] * 20)
        >>> bool(model.perplexity(["team goal team goal"]) < 4)
        True
        """
        check_is_fitted(self, "seed_")
        seen, corpus = self.label_counts_ > 0, self._new_corpus(X, reading)
        return self._completion(corpus, self.topic_word_[seen], self.alpha_[seen], None, self._prediction())

    # -- input and files -----------------------------------------------------------------------------------------

    def _check_tokens(self, corpus: Corpus) -> None:
        if self.method == "gibbs":
            super()._check_tokens(corpus)

    def _chain_sampler(self) -> Sampler:
        corpus, sets = self.corpus_, self._training_sets()
        return self._sampler_for(corpus, sets, self._prior(corpus, sets))

    def _beside_corpus(self) -> dict[str, Part]:
        return _label_files.labels_part(self.classes_, self._training_sets())

    def _fitted_numbers(self) -> list[Any]:
        found = [*super()._fitted_numbers(), self.label_counts_, self._n_labelled, *self._meta, self.threshold_]
        parts = (*(self._calibration or ()), self._rule_scores)
        return [*found, *(part for part in parts if np.size(part))]  # earlier versions' have fewer

    def _own_arrays(self) -> dict[str, AnyArray]:
        return _label_files.model_arrays(self)

    def _check_own(self, file: Contents) -> None:
        _stored_checks.check_labeled(file)
        file.expect_no_others()

    def _set_own_arrays(self, arrays: dict[str, AnyArray]) -> None:
        _label_files.set_model_arrays(self, arrays)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=True, multi_label=True)
        tags.target_tags.required = False  # a corpus may bring its labels
        tags.target_tags.multi_output = True
        return tags
