"""What supervised topic models share: running chains, predictions from all of them, files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, Unpack

import numpy as np

from topicloom._types import AnyArray, BoolArray, FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.inputs import Reading
from topicloom.engine import draws
from topicloom.engine.checks import SUPERVISED, Recorded
from topicloom.engine.estimates import Estimator
from topicloom.engine.estimator import inputs, parameters
from topicloom.engine.estimator.explained import Parts, Target
from topicloom.engine.estimator.fitted import Problem
from topicloom.engine.estimator.topics import TopicModel
from topicloom.engine.prior import Prior, make_prior
from topicloom.engine.run import Callback, Chain, Plan
from topicloom.engine.sampler import Sampler, Schedule
from topicloom.engine.stopping import MaxIter
from topicloom.engine.threads import threads_for
from topicloom.files.directories import Part, Stored
from topicloom.files.manifests import TARGETS
from topicloom.medlda import sampler as _samplers
from topicloom.medlda import stored_checks as _stored_checks
from topicloom.medlda import targets as _targets
from topicloom.medlda.targets import Kind, Targets
from topicloom.medlda.topic_weights import TopicWeights
from topicloom.medlda.unseen import refit_chains
from topicloom.numerics.product import product
from topicloom.numerics.rng import path_key

_PARTS = 3  # of the documents: scores of each by weights refit to the others


class SupervisedTopics(TopicWeights, TopicModel):
    """A topic model whose topics are to predict something. Subclasses say what, and bring the parameters."""

    loss: str

    _KINDS: ClassVar[tuple[Kind, ...]]
    _CHECKS: ClassVar[Mapping[str, parameters.Check]] = {
        "sampler": parameters.choice(_samplers.SAMPLERS),
        "loss_weight": parameters.positive,
        "weight_precision": parameters.or_none(parameters.positive),
        "calibrate": parameters.flag,
    }
    _OPTIONS: ClassVar[Mapping[str, parameters.Options]] = {
        "predict_options": parameters.predict_options(burn_in=20, thin=2, n_samples=10, n_chains=1, estimator="cgs_p"),
        "sampler_options": {
            "n_mh": parameters.Option(6, parameters.whole(1)),
            "n_gibbs": parameters.Option(2, parameters.whole(1)),
            "composition": parameters.Option("mixture", parameters.choice(_samplers.COMPOSITIONS)),
        },
    }

    _DRAWS = draws.Kinds((*draws.TOPICS.parameters, "coef"), (*draws.TOPICS.context, "coef"))

    _targets: Targets | None  # of the training documents
    _kind: str

    def __init__(
        self,
        n_components: int,
        *,
        loss_weight: float,
        weight_precision: float | None = None,
        calibrate: bool = True,
        doc_topic_prior: float | Sequence[float] | AnyArray | None = None,
        topic_word_prior: float | Sequence[float] | AnyArray | None = None,
        sampler: Literal["auto", "mh", "dense"] = "auto",
        sampler_options: _samplers.SupervisedSamplerOptions | None = None,
        estimator: Estimator = "standard",
        max_iter: MaxIter = 40,
        burn_in: int | None = 20,
        thin: int = 5,
        keep_draws: draws.KeepDraws | None = None,
        n_chains: int = 1,
        n_shards: int = 1,
        predict_options: parameters.PredictOptions | None = None,
        trace_every: int = 10,
        checkpoint_dir: str | Path | None = None,
        checkpoint_every: int = 50,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.loss_weight = loss_weight
        self.weight_precision = weight_precision
        self.calibrate = calibrate
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.sampler = sampler
        self.sampler_options = sampler_options
        self.estimator = estimator
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

    # -- what subclasses say -------------------------------------------------------------------------------------

    def _read_targets(self, y: Any, corpus: Corpus, missing: BoolArray) -> Targets:
        raise NotImplementedError

    def _class_weights(self, targets: Targets) -> FloatArray:
        return np.ones(targets.target.shape)

    def _task_weights(self, targets: Targets) -> FloatArray:
        """The factor of each loss [D, tasks]."""
        return self._class_weights(targets) * _targets.weights_of(targets)[:, None]

    def _task_groups(self, targets: Targets) -> list[list[int]]:
        return [list(range(targets.target.shape[1]))]

    def _refit_loss(self, n_tasks: int) -> int:
        """The loss by which the weights of so many tasks with the same topics are refit."""
        raise NotImplementedError

    def _task_epsilon(self, targets: Targets) -> float:
        return 0.0

    def _has_thresholds(self) -> bool:
        """Whether thresholds are chosen, on scores by weights that do not know the documents."""
        return False

    # -- fitting -------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        callbacks: Sequence[Callback] = (),
        **reading: Unpack[Reading],
    ) -> Self:
        """Learn topics, and how they predict ``y``.

        Parameters
        ----------
        X : texts, a matrix of counts, a data frame or a Corpus
            Documents, as in ``LDA.fit``.
        y : classes, label sets or numbers, optional
            What is to be predicted: one class or number per document, a list of label names per document, or a matrix
            of documents × labels with 0 and 1. None takes it from the documents: ``fit(frame, text="body",
            label="section")`` for classes, ``response="stars"`` for numbers. Documents whose entry is None or NaN have
            no loss: topics learn from their words alone.
        sample_weight : array of shape (n_documents,), optional
            Factors of the documents' losses, from 0 to 1e12. Words count alike. None is 1 for all.
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
            If a parameter is out of bounds, or documents and ``y`` do not fit together.

        Examples
        --------
        >>> from topicloom import MedLDAClassifier
        >>> model = MedLDAClassifier(2, random_state=0).fit(["goal team", "law party"] * 20, ["sport", "state"] * 20)
        >>> model.classes_.tolist()
        ['sport', 'state']
        """
        inputs.check_callbacks(callbacks)
        seed = inputs.draw_seed(self.random_state)
        self._plan(seed)  # parameters first: they are quicker to check than data
        corpus = self._training_corpus(X, reading, y)
        y, missing = _targets.without_missing(y)
        targets = _targets.with_weights(self._read_targets(y, corpus, missing), missing, sample_weight)
        return self._fit(self._problem(corpus, targets, seed), callbacks)

    def _problem(self, corpus: Corpus, targets: Targets, seed: int) -> Problem:
        return Problem(
            corpus, corpus, self._sampler_for(targets), lambda: self._prior(corpus), self._plan(seed),
            self.n_chains * len(self._task_groups(targets)), {"K": self.n_components},
            threads_by_chain=self.n_shards == 1,  # or they go to the shards of one chain after the other
            data=targets, beside=_targets.targets_part(targets),
        )  # fmt: skip

    def _stored_problem(self, stored: Stored, seed: int) -> Problem:
        corpus = self._corpus_in(stored)
        if hasattr(self, "seed_"):
            return self._problem(corpus, self._training_targets(), seed)
        return self._problem(corpus, _targets.load_targets(stored, corpus.n_docs, self._KINDS), seed)

    def _plan(self, seed: int) -> Plan:
        """Check every parameter; what is left to check depends on the data."""
        parameters.check_parameters(self)
        n_jobs = threads_for(self.n_jobs) if self.n_shards > 1 else 1
        return self._sampling_plan(seed, schedule=Schedule(self.n_shards, n_jobs, self._sampling()["n_mh"]))

    def _sampling(self) -> dict[str, Any]:
        """How topics and weights are drawn."""
        return parameters.read_options(self, "sampler_options")

    def _prior(self, corpus: Corpus) -> Prior:
        k = self.n_components
        alpha = inputs.check_prior("doc_topic_prior", self.doc_topic_prior, k, "topics", 6.4 / k)
        beta = inputs.check_prior(
            "topic_word_prior", self.topic_word_prior, corpus.n_words, "words", _word_prior(corpus, k)
        )
        return make_prior(alpha, beta, corpus.n_docs)

    def _precision(self, targets: Targets) -> float:
        if self.weight_precision is not None:
            return self.weight_precision
        return _targets.hinge_precision(targets, self.loss_weight, self.n_components) if self.loss == "hinge" else 1.0

    def _sampler_for(self, targets: Targets) -> Sampler:
        weight = self.loss_weight * self._task_weights(targets)
        tasks = _samplers.Tasks(
            targets.target, weight, self.loss, self._task_epsilon(targets), self._precision(targets),
            self._task_groups(targets), targets.scale,
        )  # fmt: skip
        own = self._sampling()
        return _samplers.medlda_sampler(
            tasks, _samplers.Options(self.sampler, own["composition"], own["n_gibbs"], self.n_chains)
        )

    def _chain_sampler(self) -> Sampler:
        return self._sampler_for(self._training_targets())

    def _publish(self, problem: Problem, chains: list[Chain]) -> None:
        targets = problem.data
        self._targets, self._kind, self._groups = targets, targets.kind, self._task_groups(targets)
        super()._publish(problem, chains)
        self._by_words = np.stack([self._word_counts_of(chain) for chain in chains])
        self._etas = [
            chain.state.eta if chain.kept is None else chain.kept.eta / chain.kept.n_samples for chain in chains
        ]
        self._learn_more(targets, self._refit(problem, chains) if self.calibrate else self._values(problem.corpus))

    def _refit(self, problem: Problem, chains: list[Chain]) -> FloatArray:
        """New weights of each chain; f [D, tasks] of the training documents, as if they were new."""
        corpus, targets = problem.corpus, problem.data
        serves = [self._groups[index // self.n_chains] for index in range(len(chains))]
        said, self._etas = refit_chains(
            corpus, chains, serves, [self._refit_loss(len(tasks)) for tasks in serves], targets.target,
            self._task_weights(targets), _targets.known(targets, corpus), threads_for(self.n_jobs),
            _PARTS if self._has_thresholds() else 1,
        )  # fmt: skip
        return said / self.n_chains

    @property
    def _recorded(self) -> Recorded:
        return SUPERVISED

    def _probe_names(self) -> list[str]:
        return [*super()._probe_names(), *_samplers.value_probe_names(self.corpus_, len(self._groups[0]))]

    def _chain_groups(self, n_chains: int) -> list[list[int]]:
        n = self.n_chains
        return [list(range(first, first + n)) for first in range(0, n_chains, n)]

    def _learn_more(self, targets: Targets, said: FloatArray) -> None:
        """What a subclass publishes; ``said`` is f of the training documents."""

    # -- new documents -------------------------------------------------------------------------------------------

    def _fold(self, corpus: Corpus) -> FloatArray:
        return self._fold_chain(corpus, self.best_chain_)

    def _fold_chain(self, corpus: Corpus, index: int) -> FloatArray:
        """Expected topic counts [D, K] with one chain's topics held fixed."""
        return self._expected_counts(corpus, *self._found_with(index))

    def _word_topics(self, corpus: Corpus) -> FloatArray:
        return self._expected_word_topics(corpus, *self._found_with(self.best_chain_))

    def _found_with(self, index: int) -> tuple[FloatArray, FloatArray, None, int]:
        """Topics [V, K] of one chain, α, no rows of it, and the seed: what topics of new documents are found with."""
        by_word = self._by_words[index]
        return by_word / by_word.sum(axis=0), self.alpha_, None, int(path_key(self.seed_, index))

    def _perplexity(self, corpus: Corpus) -> float:
        """θ of the halves is read by ``estimator``, as φ is."""
        how = self._prediction()._replace(estimator=self.estimator)
        return self._completion(corpus, self.topic_word_, self.alpha_, None, how)

    def _values(self, corpus: Corpus) -> FloatArray:
        """f [D, tasks] = Σ_k z̄_k η_k, the mean over chains; the prior's mean in place of z̄ where there is no word."""
        out = np.zeros((corpus.n_docs, sum(map(len, self._groups))))
        lengths = _lengths(corpus)[:, None]
        for index, eta in enumerate(self._etas):
            share = self._fold_chain(corpus, index) / np.where(lengths > 0, lengths, 1)
            share = np.where(lengths > 0, share, self.alpha_ / self.alpha_.sum())
            out[:, self._groups[index // self.n_chains]] += product(share, eta) / self.n_chains
        return out

    def _label_targets(self) -> list[Target]:
        return [Target(name, task, sign) for name, task, sign in self._directions()]

    def _label_parts(self, corpus: Corpus) -> Parts:
        """Of f: a word adds Σ_k η_k times its share of z̄_k. Without any word all is ``rest``."""
        n_tasks, lengths = sum(map(len, self._groups)), _lengths(corpus)
        parts = Parts(np.zeros((int(corpus.pairs.ptr[-1]), n_tasks)), np.zeros((corpus.n_docs, n_tasks)))
        of_words = np.repeat(lengths, np.diff(corpus.pairs.ptr))[:, None]
        prior = np.where(lengths[:, None] > 0, 0.0, self.alpha_ / self.alpha_.sum())
        for index, eta in enumerate(self._etas):
            tasks = self._groups[index // self.n_chains]
            share = self._expected_word_topics(corpus, *self._found_with(index)) / of_words
            parts.word[:, tasks] += product(share, eta) / self.n_chains
            parts.rest[:, tasks] += product(prior, eta) / self.n_chains
        return parts

    # -- files ---------------------------------------------------------------------------------------------------

    def _training_targets(self) -> Targets:
        if self._targets is None:
            targets = _targets.load_targets(self._stored_in(), self.corpus_.n_docs, self._KINDS)
            _stored_checks.check_same_targets(self._stored_in().path(TARGETS), self, targets)
            self._targets = targets
        return self._targets

    def _beside_corpus(self) -> dict[str, Part]:
        return _targets.targets_part(self._training_targets())

    def _fitted_numbers(self) -> list[Any]:
        return [*super()._fitted_numbers(), self._by_words, *self._etas]

    def _own_arrays(self) -> dict[str, AnyArray]:
        group_of = np.repeat(np.arange(len(self._groups)), [len(own) for own in self._groups])
        return {
            "by_words": self._by_words,
            "etas": np.concatenate(self._etas, axis=1),
            "group_of": group_of,
        }

    def _set_own_arrays(self, arrays: dict[str, AnyArray]) -> None:
        self._targets = None
        self._by_words, group_of = arrays["by_words"], arrays["group_of"]
        self._groups = [np.flatnonzero(group_of == group).tolist() for group in range(int(group_of.max()) + 1)]
        sizes = np.repeat([len(own) for own in self._groups], self.n_chains)
        self._etas = np.split(arrays["etas"], np.cumsum(sizes)[:-1], axis=1)


def _word_prior(corpus: Corpus, n_topics: int) -> float:
    """β if none is given: 0.1, or less where all words of a topic would have more than a fifth of its tokens.

    Too large a β makes many topics alike, and too small a one lets words of single documents tell their labels.
    """
    return min(0.1, max(0.03, 0.2 * corpus.n_tokens / (n_topics * max(corpus.n_words, 1))))


def _lengths(corpus: Corpus) -> FloatArray:
    """Tokens of each document, or the sum of their weights."""
    if corpus.weights is None:
        return corpus.doc_lengths.astype(np.float64)
    return np.bincount(corpus.token_docs, corpus.weights, corpus.n_docs).astype(np.float64)
