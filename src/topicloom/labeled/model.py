"""Multi-label classification by topics that stand for labels: Labeled LDA and Prior-LDA."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, Unpack

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.inputs import Reading
from topicloom.engine import draws
from topicloom.engine.estimates import Estimator
from topicloom.engine.estimator import inputs, parameters, published
from topicloom.engine.estimator import label_sets as _labels
from topicloom.engine.estimator.documented import CHAINS, RUN, TOPICS, documented
from topicloom.engine.estimator.fitted import Problem
from topicloom.engine.estimator.label_sets import LabelSets
from topicloom.engine.prior import Prior, make_prior
from topicloom.engine.run import Callback, Chain, Plan
from topicloom.engine.sampler import Sampler, Schedule
from topicloom.engine.stopping import MaxIter
from topicloom.engine.threads import threads_for
from topicloom.errors import InputError
from topicloom.files.directories import Stored
from topicloom.labeled import labels as _label_files
from topicloom.labeled import sampler
from topicloom.labeled.calibration import fit_calibration
from topicloom.labeled.classifier import LabelClassifier
from topicloom.labeled.documented import ATTRIBUTES, SHARED
from topicloom.labeled.label_rules import CHOSEN, RULES, best_threshold, fit_meta_labeler, micro_f1
from topicloom.numerics.rng import Purpose, path_key

_PAIRS = 1_000_000  # (document, label) pairs that are enough to calibrate by


@documented(shared=SHARED, run=RUN, labels=ATTRIBUTES, topics=TOPICS, chains=CHAINS)
class LabeledLDA(LabelClassifier):
    """Labeled LDA: one topic per label.

    Each word of a training document comes from one of the document's labels. A new document may have any label.

    Parameters
    ----------
    {shared}
    {run}

    Attributes
    ----------
    {labels}
    {topics}
    {chains}

    See Also
    --------
    PriorLDA : Expects frequent labels in new documents.
    DependencyLDA : Also learns which labels occur together.
    MedLDAClassifier : For one class per document, or for the highest accuracy with few topics.

    References
    ----------
    Ramage, Hall, Nallapati and Manning, "Labeled LDA", EMNLP 2009.

    Examples
    --------
    >>> from topicloom import LabeledLDA
    >>> texts, labels = ["goal match team", "vote law party"] * 20, [["sport"], ["state"]] * 20
    >>> model = LabeledLDA(max_iter=40, burn_in=20, random_state=0).fit(texts, labels)
    >>> model.classes_.tolist()
    ['sport', 'state']
    >>> model.predict_labels(["team goal"])
    [('sport',)]
    """

    _CHECKS: ClassVar[Mapping[str, parameters.Check]] = {
        "method": parameters.choice(("gibbs", "cvb0")),
        "ranking": parameters.choice(("probability", "counts", "theta")),
        "label_rule": parameters.choice(RULES),
        "n_labels": parameters.or_none(parameters.whole(1)),
        "holdout": parameters.number(0.0, 0.9),
    }
    _OPTIONS: ClassVar[Mapping[str, parameters.Options]] = {
        "predict_options": parameters.predict_options(burn_in=50, thin=5, n_samples=10, n_chains=1, estimator="cgs_p")
    }

    def __init__(
        self,
        *,
        doc_topic_prior: float | None = None,
        topic_word_prior: float | Sequence[float] | AnyArray = 0.1,
        method: Literal["gibbs", "cvb0"] = "gibbs",
        estimator: Estimator = "standard",
        ranking: Literal["probability", "counts", "theta"] = "probability",
        label_rule: Literal["auto", "threshold", "meta", "count", "proportional"] = "auto",
        n_labels: int | None = None,
        holdout: float = 0.2,
        max_iter: MaxIter = 195,
        burn_in: int | None = 50,
        thin: int = 5,
        keep_draws: draws.KeepDraws | None = None,
        n_chains: int = 1,
        n_shards: int | Literal["auto"] = "auto",
        predict_options: parameters.PredictOptions | None = None,
        trace_every: int = 10,
        checkpoint_dir: str | Path | None = None,
        checkpoint_every: int = 50,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.method = method
        self.estimator = estimator
        self.ranking = ranking
        self.label_rule = label_rule
        self.n_labels = n_labels
        self.holdout = holdout
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.thin = thin
        self.keep_draws = keep_draws
        self.n_chains = n_chains
        self.n_shards = n_shards
        self.predict_options = predict_options
        self.trace_every = trace_every
        self.checkpoint_dir = checkpoint_dir
        self.checkpoint_every = checkpoint_every
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- fitting -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, callbacks: Sequence[Callback] = (), **reading: Unpack[Reading]) -> Self:
        """Learn each label's words.

        Parameters
        ----------
        X : texts, a matrix of counts, a data frame or a Corpus
            Documents, as in ``LDA.fit``.
        y : label sets, optional
            A matrix of documents × labels with 0 and 1 (dense, sparse, a data frame), or a list of label names per
            document. None takes the labels of the documents: ``fit(frame, text="body", label="tags")``. A document
            without labels teaches nothing and keeps its row.
        callbacks : sequence of callables, default=()
            Each is called with the chain after every sweep. A true answer stops the chain.
        **reading
            How ``X`` is read, as in ``LDA.fit``. New documents are read alike.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If a parameter is out of bounds, or documents and labels do not fit together.

        Examples
        --------
        >>> from topicloom import LabeledLDA
        >>> texts, labels = ["goal match team", "vote law party"] * 20, [["sport"], ["state"]] * 20
        >>> LabeledLDA(max_iter=40, burn_in=20, random_state=0).fit(texts, labels).label_counts_.tolist()
        [20, 20]
        """
        inputs.check_callbacks(callbacks)
        seed = inputs.draw_seed(self.random_state)
        self._plan(seed)  # parameters first: they are quicker to check than data
        corpus = self._training_corpus(X, reading, y)
        classes, sets = _labels.read_labels(y, corpus)
        return self._fit(self._problem(_labelled_tokens(corpus, sets), classes, sets, seed), callbacks)

    def _problem(self, corpus: Corpus, classes: AnyArray, sets: LabelSets, seed: int) -> Problem:
        prior = self._prior(corpus, sets)
        return Problem(
            corpus, corpus, self._sampler_for(corpus, sets, prior), lambda: prior, self._plan(seed), self.n_chains,
            {"K": sets.n_labels},
            data=(classes, sets), beside=_label_files.labels_part(classes, sets),
        )  # fmt: skip

    def _stored_problem(self, stored: Stored, seed: int) -> Problem:
        corpus = self._corpus_in(stored)
        if hasattr(self, "seed_"):
            return self._problem(corpus, self.classes_, self._training_sets(), seed)
        return self._problem(corpus, *_label_files.load_labels(stored, corpus), seed)

    def _plan(self, seed: int) -> Plan:
        """Check every parameter; what is left to check depends on the data."""
        parameters.check_parameters(self)
        if self.holdout == 0 and self.label_rule == "threshold":
            raise InputError('label_rule="threshold" is tuned on held-out documents; give a holdout above 0.')
        if self.method == "cvb0" and self.keep_draws is not None:
            raise InputError('keep_draws is for sampling; use method="gibbs", or leave it out.')
        n_shards = parameters.shards_of(self.n_shards)
        if self.method == "cvb0":
            if n_shards > 1:
                raise InputError('n_shards above 1 is for sampling; use method="gibbs", or leave it out.')
            return self._sampling_plan(seed, schedule=Schedule())
        return self._sampling_plan(seed, schedule=Schedule(n_shards, threads_for(self.n_jobs)))

    def _prior(self, corpus: Corpus, sets: LabelSets) -> Prior:
        k = sets.n_labels
        if inputs.is_vector("doc_topic_prior", self.doc_topic_prior):
            raise InputError("doc_topic_prior is one number here, the same for all labels; leave it out for 50/K.")
        alpha = inputs.check_prior("doc_topic_prior", self.doc_topic_prior, k, "labels", 50.0 / k)
        beta = inputs.check_prior("topic_word_prior", self.topic_word_prior, corpus.n_words, "words", 0.1)
        return make_prior(alpha, beta, corpus.n_docs)

    def _sampler_for(self, corpus: Corpus, sets: LabelSets, prior: Prior) -> Sampler:
        return sampler.gibbs(sets) if self.method == "gibbs" else sampler.cvb0(sets, corpus, prior)

    def _publish(self, problem: Problem, chains: list[Chain]) -> None:
        self.classes_, sets = problem.data
        self._sets, self.label_counts_, self.unlabeled_docs_ = sets, sets.frequencies, sets.sizes == 0
        self._n_labelled = int(np.count_nonzero(sets.sizes))
        super()._publish(problem, chains)
        self._set_arrays(self._mean_word_counts(), self._prediction_prior(), chains[0].prior.beta)
        self._meta = fit_meta_labeler(problem.corpus.to_matrix()[sets.sizes > 0], sets.sizes[sets.sizes > 0])
        self._learn_more()
        self._calibration, self.threshold_, self._rule_scores = None, 0.5, np.zeros(0)
        self._calibrate()

    def _report(self, problem: Problem, best: Chain) -> bool:
        return published.report_topics(self, problem.corpus, best.prior, labels=True, what="labels' topics")

    def _learn_more(self) -> None:
        """What a subclass needs to predict, before it is calibrated."""

    def _prediction_prior(self) -> FloatArray:
        """α of new documents: as in training, but 0 for labels that were never seen."""
        seen = self.label_counts_ > 0
        total = 50.0 / seen.sum() if self.doc_topic_prior is None else self.doc_topic_prior
        return np.where(seen, total, 0.0)

    def _calibrate(self) -> None:
        """Probabilities, the threshold and the rule, from documents that a second model has not seen."""
        assert self._sets is not None
        labelled = np.flatnonzero(self._sets.sizes)
        n_held = min(round(self.holdout * len(labelled)), max(50, _PAIRS // self._sets.n_labels))
        if self.holdout > 0 and len(labelled) > 1:
            n_held = max(n_held, 1)
        if n_held == 0 or n_held == len(labelled):
            return
        rng = np.random.default_rng(int(path_key(self.seed_, Purpose.HELD_OUT)))
        held = np.zeros(self._sets.n_docs, bool)
        held[rng.permutation(labelled)[:n_held]] = True
        kept = any(chain.kept is not None for chain in self.chains_)
        second = type(self)(**self.get_params()).set_params(
            n_chains=1, holdout=0.0, label_rule="meta", checkpoint_dir=None, verbose=0, random_state=self.seed_,
            max_iter=max(self.n_iter_, 1), burn_in=self.burn_in if kept else None,
            keep_draws=None,
        )  # fmt: skip
        second._quiet = True
        sets = _labels.without(self._sets, held)
        corpus = self.corpus_.keep_tokens(~np.repeat(held, self.corpus_.doc_lengths))
        if corpus.n_tokens == 0:
            return
        second._quiet = True
        second._fit(second._problem(corpus, self.classes_, sets, self.seed_), ())
        self.interrupted_ = self.interrupted_ or second.interrupted_  # and can go on to be calibrated as it should
        truth = _labels.indicator(self._sets)[held]
        new = self.corpus_.select(held)
        counts, alpha = second._fold_all(new)
        rates, seen = second._rates(), second.label_counts_ > 0
        self._calibration = second._calibration = fit_calibration(counts, rates, truth, seen)
        self.threshold_ = second.threshold_ = best_threshold(second._probability(counts), truth)
        chosen = [second.set_params(label_rule=rule)._predict(new, counts, alpha) for rule in CHOSEN]
        self._rule_scores = np.array([micro_f1(truth, answer) for answer in chosen])


@documented(shared=SHARED, run=RUN, labels=ATTRIBUTES, topics=TOPICS, chains=CHAINS)
class PriorLDA(LabeledLDA):
    """Prior-LDA: Labeled LDA that expects frequent labels in new documents.

    With f_k training documents that have label k, α of prediction is ``frequency_weight`` · f_k/Σf + ``smoothing``/K
    (CGS_p eq. 59). K is the number of labels that have any document.

    Parameters
    ----------
    frequency_weight : float, default=50
        Weight of the labels' frequencies in α of prediction.
    smoothing : float, default=30
        Weight of a constant in α of prediction.
    {shared}
    {run}

    Attributes
    ----------
    {labels}
    {topics}
    {chains}

    See Also
    --------
    LabeledLDA : All labels are equally likely at first.
    DependencyLDA : Also learns which labels occur together.

    References
    ----------
    Rubin, Chambers, Smyth and Steyvers, "Statistical topic models for multi-label document classification", Machine
    Learning 2012.

    Examples
    --------
    >>> from topicloom import PriorLDA
    >>> texts, labels = ["goal match team", "vote law party"] * 20, [["sport"], ["state"]] * 20
    >>> model = PriorLDA(max_iter=40, burn_in=20, random_state=0).fit(texts, labels)
    >>> model.alpha_.tolist()
    [40.0, 40.0]
    >>> model.predict(["team goal", "party law"])
    array([[1, 0],
           [0, 1]])
    """

    _CHECKS: ClassVar[Mapping[str, parameters.Check]] = {
        "frequency_weight": parameters.number(0.0, parameters.MOST),
        "smoothing": parameters.positive,
    }

    @parameters.with_parameters_of(LabeledLDA)
    def __init__(self, *, frequency_weight: float = 50.0, smoothing: float = 30.0, **others: Any) -> None:
        super().__init__(**others)
        self.frequency_weight = frequency_weight
        self.smoothing = smoothing

    def _prediction_prior(self) -> FloatArray:
        f = self.label_counts_
        smooth = np.where(f > 0, self.smoothing / np.count_nonzero(f), 0.0)
        return np.asarray(self.frequency_weight * f / f.sum() + smooth)  # CGS_p eq. 59


def _labelled_tokens(corpus: Corpus, sets: LabelSets) -> Corpus:
    """The corpus in which documents without labels have no words: there is no label to draw them from."""
    labelled = sets.sizes > 0
    if not labelled.all():
        corpus = corpus.keep_tokens(np.repeat(labelled, corpus.doc_lengths))
        if corpus.n_tokens == 0:
            raise InputError("every document with a label is empty: there is no word to learn labels from.")
    return corpus
