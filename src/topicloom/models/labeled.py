"""Multi-label classification by topics that stand for labels: Labeled LDA and Prior-LDA."""

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from topicloom import storage
from topicloom._types import AnyArray, FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.directories import Stored, restart_run
from topicloom.errors import InputError
from topicloom.estimates import ESTIMATORS, Estimator
from topicloom.inference import labeled
from topicloom.inference.chain import Callback, Chain, Plan, run_chains, start_chain
from topicloom.inference.checkpoints import Belonging
from topicloom.inference.kernel import Kernel, Prior, make_prior
from topicloom.inference.labeled import LabelSets
from topicloom.inference.parallel import resolve_jobs
from topicloom.kernels.rng import path_key
from topicloom.manifests import CORPUS
from topicloom.models import _inputs, _labels, _published
from topicloom.models._label_rules import RULES, best_threshold, fit_calibration, fit_meta_labeler
from topicloom.models._stored_checks import check_training_corpus, parameters_of
from topicloom.models.classifier import LabelClassifier
from topicloom.progress import progress

_WHOLE_NUMBERS = {  # parameters that are whole numbers, and the least that each may be
    **dict.fromkeys(("max_iter", "lag", "n_chains", "trace_every", "checkpoint_every"), 1),
    **dict.fromkeys(("predict_lag", "predict_samples", "predict_chains"), 1),
    "predict_burn_in": 0,
}
_PAIRS = 1_000_000  # (document, label) pairs that are enough to calibrate by
_HELD_OUT = 6  # what the streams are for


class LabeledLDA(LabelClassifier):
    """Labeled LDA: one topic a label, and every word of a training document drawn from one of the document's labels.

    ``X`` is a ``Corpus``, a documents × words count matrix or a list of texts; ``Y`` a documents × labels matrix of 0
    and 1 (dense, sparse, a data frame), a list of label names for each document, or nothing if the corpus has labels.
    A document without labels teaches nothing and keeps its row. A label without documents keeps its column, has
    probability 0 and is never predicted.

    Parameters
    ----------
    doc_topic_prior : α of training; None is 50/K for K labels (CGS_p eq. 58).
    topic_word_prior : β.
    inference : "gibbs" draws labels, "cvb0" is the deterministic approximation, in training and for new documents.
    estimator, predict_estimator : "standard" or "cgs_p", for φ (words of labels) and for θ (labels of new documents).
    ranking : "counts" ranks a document's labels by expected counts, with α for ties alone; "theta" by θ, which has α in
        it.
    label_rule : how many labels to predict. "meta": a linear model of the number on the words; "count": ``n_labels``
        for each document (None: the mean of training); "threshold": those whose probability passes a threshold tuned on
        held-out documents; "proportional": each label for as large a share of the documents as in training, which makes
        an answer depend on its batch.
    holdout : share of the labelled documents on which probabilities are calibrated and the threshold is tuned, by a
        model of one chain that has not seen them. 0: none, and probabilities are not calibrated.
    max_iter, burn_in, lag, n_chains : sweeps, and which are kept. Labels do not change their meaning, so counts are
        averaged over samples and chains. ``burn_in=None`` keeps the last sweep of each chain.
    predict_burn_in, predict_lag, predict_samples, predict_chains : how new documents are sampled.
    trace_every, checkpoint_dir, checkpoint_every, n_jobs, random_state, verbose : as of ``LDA``.

    Attributes
    ----------
    classes_ : names of the labels; topic k is label k. label_counts_ : training documents with each.
    components_, topic_word_, doc_topic_, beta_ : as of ``LDA``. alpha_ : α of prediction, 0 for labels never seen.
    threshold_ : of "threshold". unlabeled_docs_ : training documents that had no label.
    chains_, traces_, log_joint_, vocabulary_, empty_docs_, n_iter_, interrupted_, seed_, fingerprint_
    """

    def __init__(
        self,
        *,
        doc_topic_prior: float | None = None,
        topic_word_prior: float | Sequence[float] | AnyArray = 0.1,
        inference: Literal["gibbs", "cvb0"] = "gibbs",
        estimator: Estimator = "standard",
        predict_estimator: Estimator = "cgs_p",
        ranking: Literal["counts", "theta"] = "counts",
        label_rule: Literal["meta", "count", "threshold", "proportional"] = "meta",
        n_labels: int | None = None,
        holdout: float = 0.2,
        max_iter: int = 195,
        burn_in: int | None = 50,
        lag: int = 5,
        n_chains: int = 1,
        predict_burn_in: int = 50,
        predict_lag: int = 5,
        predict_samples: int = 10,
        predict_chains: int = 1,
        trace_every: int = 10,
        checkpoint_dir: str | Path | None = None,
        checkpoint_every: int = 50,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.inference = inference
        self.estimator = estimator
        self.predict_estimator = predict_estimator
        self.ranking = ranking
        self.label_rule = label_rule
        self.n_labels = n_labels
        self.holdout = holdout
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.lag = lag
        self.n_chains = n_chains
        self.predict_burn_in = predict_burn_in
        self.predict_lag = predict_lag
        self.predict_samples = predict_samples
        self.predict_chains = predict_chains
        self.trace_every = trace_every
        self.checkpoint_dir = checkpoint_dir
        self.checkpoint_every = checkpoint_every
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- fitting -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, Y: Any = None, *, callbacks: Sequence[Callback] = ()) -> Self:
        """Learn each label's words. Callbacks are given the chain after every sweep; a true answer stops it there."""
        _inputs.check_call(self, callbacks)
        seed = _inputs.draw_seed(self.random_state)
        plan = self._plan(seed)
        corpus = self._training_corpus(X)
        classes, sets = _labels.read_labels(Y, corpus)
        corpus = _labelled_tokens(corpus, sets)
        prior = self._prior(corpus, sets)
        run = None
        if self.checkpoint_dir is not None:
            folder, beside = self.checkpoint_dir, _labels.labels_part(classes, sets)
            run = storage.start_run(folder, corpus, type(self).__name__, self._plain_params(), seed, beside)
        kernel = self._kernel(corpus, sets, prior)
        chains = [start_chain(kernel, corpus, prior, seed, index) for index in range(self.n_chains)]
        self._run(kernel, corpus, classes, sets, chains, plan, callbacks, run)
        return self

    def _plan(self, seed: int) -> Plan:
        """Check every parameter; what is left to check depends on the data."""
        _inputs.check_choice("inference", self.inference, ("gibbs", "cvb0"))
        _inputs.check_choice("estimator", self.estimator, ESTIMATORS)
        _inputs.check_choice("predict_estimator", self.predict_estimator, ESTIMATORS)
        _inputs.check_choice("ranking", self.ranking, ("counts", "theta"))
        _inputs.check_choice("label_rule", self.label_rule, RULES)
        for name, least in _WHOLE_NUMBERS.items():
            _inputs.check_whole(name, getattr(self, name), least)
        if self.n_labels is not None:
            _inputs.check_whole("n_labels", self.n_labels, 1)
        if self.burn_in is not None and _inputs.check_whole("burn_in", self.burn_in, 1) > self.max_iter:
            raise InputError(
                f"burn_in={self.burn_in} leaves no sweep to keep of max_iter={self.max_iter}; make it smaller."
            )
        if _inputs.check_number("holdout", self.holdout, 0.0, 0.9) == 0 and self.label_rule == "threshold":
            raise InputError('label_rule="threshold" is tuned on held-out documents; give a holdout above 0.')
        resolve_jobs(self.n_jobs)
        return Plan(
            seed=seed,
            max_iter=self.max_iter,
            burn_in=self.burn_in,
            lag=self.lag,
            estimator=self.estimator,
            trace_every=self.trace_every,
            checkpoint_every=self.checkpoint_every,
        )

    def _prior(self, corpus: Corpus, sets: LabelSets) -> Prior:
        k = sets.n_labels
        if _inputs.is_vector("doc_topic_prior", self.doc_topic_prior):
            raise InputError("doc_topic_prior is one number here, the same for all labels; leave it out for 50/K.")
        alpha = _inputs.check_prior("doc_topic_prior", self.doc_topic_prior, k, "labels", 50.0 / k)
        beta = _inputs.check_prior("topic_word_prior", self.topic_word_prior, corpus.n_words, "words", 0.1)
        return make_prior(alpha, beta, corpus.n_docs)

    def _kernel(self, corpus: Corpus, sets: LabelSets, prior: Prior) -> Kernel:
        return labeled.gibbs(sets) if self.inference == "gibbs" else labeled.cvb0(sets, corpus, prior)

    def _run(
        self,
        kernel: Kernel,
        corpus: Corpus,
        classes: AnyArray,
        sets: LabelSets,
        chains: list[Chain],
        plan: Plan,
        callbacks: Sequence[Callback] = (),
        run: Stored | None = None,
    ) -> None:
        checkpoint = None if run is None else partial(storage.save_chain, run)
        started = time.perf_counter()
        with progress(self.verbose > 0, corpus, chains, plan) as watch:
            interrupted = run_chains(
                kernel, corpus, chains, plan, n_jobs=resolve_jobs(self.n_jobs), callbacks=callbacks, watch=watch,
                checkpoint=checkpoint,
            )  # fmt: skip
        log_joints = np.array([kernel.log_joint(corpus, chain.state, chain.prior) for chain in chains])
        with _published.publishing(self):
            self._learn(corpus, classes, sets, chains, log_joints, plan.seed, interrupted)
        self.fit_seconds_ = time.perf_counter() - started
        if run is not None and not interrupted:
            self._write(run)
        if interrupted:
            _inputs.warn_interrupted(self.n_iter_, plan.max_iter)
        _published.report_topics(self, corpus, chains[0].prior, labels=True, what="labels' topics")

    def _learn(
        self,
        corpus: Corpus,
        classes: AnyArray,
        sets: LabelSets,
        chains: list[Chain],
        log_joints: FloatArray,
        seed: int,
        interrupted: bool,
    ) -> None:
        """All that a fitted model has, from its chains."""
        self.classes_, self._sets = classes, sets
        self.label_counts_ = sets.frequencies
        self.unlabeled_docs_ = sets.sizes == 0
        self._n_labelled = int(np.count_nonzero(sets.sizes))
        self._publish(corpus, chains, log_joints, seed, interrupted)
        self._set_arrays(self._mean_word_counts(), self._prediction_prior(), chains[0].prior.beta)
        self._meta = fit_meta_labeler(corpus.to_matrix()[sets.sizes > 0], sets.sizes[sets.sizes > 0])
        self._learn_more()
        self._calibration, self.threshold_ = None, 0.5
        self._calibrate()

    def _learn_more(self) -> None:
        """What a subclass needs to predict, before it is calibrated."""

    def _prediction_prior(self) -> FloatArray:
        """α of new documents: as in training, but 0 for labels that were never seen."""
        seen = self.label_counts_ > 0
        total = 50.0 / seen.sum() if self.doc_topic_prior is None else self.doc_topic_prior
        return np.where(seen, total, 0.0)

    def _calibrate(self) -> None:
        """Probabilities and the threshold, from documents that a second model has not seen."""
        assert self._sets is not None
        labelled = np.flatnonzero(self._sets.sizes)
        n_held = min(round(self.holdout * len(labelled)), max(50, _PAIRS // self._sets.n_labels))
        if self.holdout > 0 and len(labelled) > 1:
            n_held = max(n_held, 1)
        if n_held == 0 or n_held == len(labelled):
            return
        rng = np.random.default_rng(int(path_key(self.seed_, _HELD_OUT)))
        held = np.zeros(self._sets.n_docs, bool)
        held[rng.permutation(labelled)[:n_held]] = True
        kept = any(chain.kept is not None for chain in self.chains_)
        second = type(self)(**self.get_params()).set_params(
            n_chains=1, holdout=0.0, label_rule="meta", checkpoint_dir=None, verbose=0, random_state=self.seed_,
            max_iter=max(self.n_iter_, 1), burn_in=self.burn_in if kept else None,
        )  # fmt: skip
        second._quiet = True
        sets = _labels.without(self._sets, held)
        corpus = self.corpus_.keep_tokens(~np.repeat(held, self.corpus_.doc_lengths))
        if corpus.n_tokens == 0:
            return
        prior = second._prior(corpus, sets)
        kernel = second._kernel(corpus, sets, prior)
        chains = [start_chain(kernel, corpus, prior, self.seed_, 0)]
        second._run(kernel, corpus, self.classes_, sets, chains, second._plan(self.seed_))
        truth = _labels.indicator(self._sets)[held]
        counts = second._fold(self.corpus_.select(held))
        seen = second.label_counts_ > 0
        self._calibration = second._calibration = fit_calibration(
            counts[:, seen], second._rates()[seen], truth[:, seen]
        )
        self.threshold_ = best_threshold(second._probability(counts), truth)

    @classmethod
    def _resume(cls, stored: Stored, changes: dict[str, Any]) -> Self:
        model = cls._from_params(stored)
        model.set_params(**changes, checkpoint_dir=stored.folder)
        plan = model._plan(stored.manifest["seed"])
        corpus = storage.read_corpus(stored)
        check_training_corpus(stored.path(CORPUS), model, corpus)
        classes, sets = _labels.load_labels(stored, corpus)
        with parameters_of(stored):
            prior = model._prior(corpus, sets)
        kernel = model._kernel(corpus, sets, prior)
        chains = [
            storage.load_chain(stored, index, corpus, kernel, Belonging(sets.n_labels))
            if stored.chain_path(index) is not None
            else start_chain(kernel, corpus, prior, plan.seed, index)
            for index in range(model.n_chains)
        ]
        _inputs.check_goes_on(model.max_iter, max(chain.sweep for chain in chains), stored.folder, stored.manifest)
        model._run(kernel, corpus, classes, sets, chains, plan, run=restart_run(stored, model._plain_params()))
        return model


class PriorLDA(LabeledLDA):
    """Prior-LDA: Labeled LDA that expects frequent labels in new documents.

    α of prediction is ``frequency_weight`` · f_k/Σf + ``smoothing``/K (CGS_p eq. 59), f_k being the number of training
    documents with label k and K the number of labels that have any. All else is as of ``LabeledLDA``.
    """

    @_inputs.with_parameters_of(LabeledLDA)
    def __init__(self, *, frequency_weight: float = 50.0, smoothing: float = 30.0, **others: Any) -> None:
        super().__init__(**others)
        self.frequency_weight = frequency_weight
        self.smoothing = smoothing

    def _plan(self, seed: int) -> Plan:
        _inputs.check_number("frequency_weight", self.frequency_weight, 0.0, _inputs.MOST)
        _inputs.check_positive("smoothing", self.smoothing)
        return super()._plan(seed)

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
