"""The hierarchical Dirichlet process as an estimator: topics, and how many there are."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, TypedDict, Unpack

import numpy as np
from sklearn.utils.validation import check_is_fitted

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.inputs import Reading
from topicloom.engine import stopping
from topicloom.engine.checks import PROCESS, Recorded
from topicloom.engine.estimates import Estimator
from topicloom.engine.estimator import inputs, parameters, stored_checks
from topicloom.engine.estimator.fitted import Problem
from topicloom.engine.estimator.names import SavedNames
from topicloom.engine.estimator.topics import TopicModel
from topicloom.engine.prior import Prior, make_prior
from topicloom.engine.run import Callback, Chain, Plan
from topicloom.engine.sampler import Sampler, Schedule
from topicloom.engine.stopping import MaxIter
from topicloom.engine.threads import resolve_jobs
from topicloom.errors import InputError, PriorsWarning, TopicNamesWarning, warn
from topicloom.files.checks import Contents
from topicloom.files.directories import Stored
from topicloom.hdp.sampler import process_sampler
from topicloom.hdp.state import DOC, MOST_TOPICS, TOPIC
from topicloom.hdp.stored_checks import check_level
from topicloom.hdp.weights import GammaPrior
from topicloom.lda.model import LDA

_START = 1.0  # of a concentration that is learned
_DOC_PRIOR, _TOPIC_PRIOR = (1.0, 1.0), (1.0, 0.1)  # shapes and rates (Teh et al. 2006, section 6)
_GIVEN = GammaPrior(0.0, 0.0)


class GammaOptions(TypedDict, total=False):
    """The gamma prior under which a concentration is learned. What is left out is the model's default."""

    shape: float
    rate: float


def _gamma_prior(name: str, given: Any, default: tuple[float, float]) -> GammaPrior:
    keys = {
        key: parameters.Option(value, parameters.positive)
        for key, value in zip(("shape", "rate"), default, strict=True)
    }
    own = parameters.read_dict(name, given, keys)
    return GammaPrior(float(own["shape"]), float(own["rate"]))


def _concentration(name: str, given: Any, default: tuple[float, float]) -> tuple[float, GammaPrior]:
    """Where a concentration starts, and the prior under which it is learned."""
    if given is None or isinstance(given, Mapping):
        return _START, _gamma_prior(name, given, default)
    parameters.positive(name, given)
    return float(given), _GIVEN


class HDP(TopicModel):
    """A hierarchical Dirichlet process of topics (Teh et al. 2006): as LDA, but the number of topics is learned.

    Parameters
    ----------
    initial_topics : int, default=10
        Number of topics that a chain starts with. Sweeps add and drop topics.
    max_topics : int, default=1000
        There are never more. It bounds memory; a posterior near it calls for a higher one.
    doc_concentration : float, dict or None, default=None
        α₀, how close documents are to the mean: the smaller, the fewer topics a document has. None learns it under a
        gamma prior of shape 1 and rate 1, a dict with ``shape`` and ``rate`` under another one.
    topic_concentration : float, dict or None, default=None
        γ, how many topics there are: the smaller, the fewer. None learns it under a gamma prior of shape 1 and rate
        0.1, a dict with ``shape`` and ``rate`` under another one.
    topic_word_prior : float or array-like of shape (n_words,), default=0.1
        η, the prior of topics' words. The smaller, the more and the narrower topics. It is not learned.
    estimator : {"cgs_p", "standard"}, default="cgs_p"
        How topics are computed from the last sweep's sample, as in ``LDA``.
    max_iter : int, "auto" or Converged, default=1000
        Number of sweeps, as in ``LDA``.
    n_chains : int, default=1
        Independent chains, each with a number of topics of its own.
    predict_options, trace_every, checkpoint_dir, checkpoint_every, n_jobs, random_state, verbose
        As in ``LDA``.

    Attributes
    ----------
    n_topics_ : int
        Number of topics in the published sample, each of which has tokens.
    n_topics_trace_ : tuple of ndarray
        Sweeps, and numbers of topics there, of the published chain.
    topic_weights_ : ndarray of shape (n_topics,)
        β, how common topics are in all documents. What is missing to 1 is the weight of topics without tokens.
    doc_concentration_ : float
        α₀, as given or as drawn last.
    topic_concentration_ : float
        γ, as given or as drawn last.
    components_ : ndarray of shape (n_topics, n_words)
        Expected counts of words in topics, plus η.
    topic_word_ : ndarray of shape (n_topics, n_words)
        Probability of each word in each topic.
    doc_topic_ : ndarray of shape (n_docs, n_topics)
        Share of each topic in each training document.
    alpha_ : ndarray of shape (n_topics,)
        Prior of documents: ``doc_concentration_`` times ``topic_weights_``.
    beta_ : ndarray of shape (n_words,)
        η.
    vocabulary_ : tuple of str
        The words.
    log_joint_ : ndarray of shape (n_chains,)
        Last log p(w, z | β, α₀, η) of each chain.
    chains_, best_chain_, trace_, traces_, corpus_, empty_docs_, n_iter_, interrupted_, seed_, fingerprint_
        As in ``LDA``.

    See Also
    --------
    LDA : The same with a number of topics that you choose.
    topicloom.diagnostics.search_topics : Numbers of topics compared by held-out words.

    Notes
    -----
    Topics are those of the last sweep alone: samples with other topics have no mean. New documents are explained by
    these topics and by no others.

    Examples
    --------
    >>> from topicloom import HDP
    >>> from topicloom.datasets import bars
    >>> model = HDP(max_iter=100, random_state=0).fit(bars(n_docs=100).corpus)
    >>> model.topic_word_.shape == (model.n_topics_, 25)
    True
    >>> model.transform(bars(n_docs=3, seed=1).corpus).shape == (3, model.n_topics_)
    True
    """

    _DOC_PRIOR: ClassVar[str] = "doc_concentration"
    _PUBLISHES: ClassVar[tuple[str, ...]] = ("best", "medoid")
    _CHECKS: ClassVar[Mapping[str, parameters.Check]] = {
        "initial_topics": parameters.whole(1),
        "max_topics": parameters.whole(1),
    }
    _OPTIONS: ClassVar[Mapping[str, parameters.Options]] = {
        "predict_options": LDA._OPTIONS["predict_options"],
    }

    _level: FloatArray  # see ``state.HDPState``

    def __init__(
        self,
        initial_topics: int = 10,
        *,
        max_topics: int = 1000,
        doc_concentration: float | GammaOptions | None = None,
        topic_concentration: float | GammaOptions | None = None,
        topic_word_prior: float | Sequence[float] | AnyArray = 0.1,
        estimator: Estimator = "cgs_p",
        max_iter: MaxIter = 1000,
        n_chains: int = 1,
        predict_options: parameters.PredictOptions | None = None,
        trace_every: int = 10,
        checkpoint_dir: str | Path | None = None,
        checkpoint_every: int = 50,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.initial_topics = initial_topics
        self.max_topics = max_topics
        self.doc_concentration = doc_concentration
        self.topic_concentration = topic_concentration
        self.topic_word_prior = topic_word_prior
        self.estimator = estimator
        self.max_iter = max_iter
        self.n_chains = n_chains
        self.predict_options = predict_options
        self.trace_every = trace_every
        self.checkpoint_dir = checkpoint_dir
        self.checkpoint_every = checkpoint_every
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- fitting -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, callbacks: Sequence[Callback] = (), **reading: Unpack[Reading]) -> Self:
        """Learn topics, and how many there are.

        Parameters
        ----------
        X : texts, a data frame, a matrix of counts, a Corpus or anything else that ``LDA.fit`` takes
            The documents.
        y : None
            Not used.
        callbacks : sequence of callables, default=()
            Each is called with the chain after every sweep. If it returns something true, that chain stops.
        **reading
            How ``X`` is read, as in ``LDA.fit``.

        Returns
        -------
        self : HDP
            The fitted model.

        Raises
        ------
        InputError
            If a parameter or the documents are not what they must be; the message says what to do.

        Examples
        --------
        >>> from topicloom import HDP
        >>> model = HDP(max_iter=50, random_state=0).fit(["river boat river", "money bank money"] * 10)
        >>> model.n_topics_ == len(model.top_words())
        True
        """
        inputs.check_callbacks(callbacks)
        seed = inputs.draw_seed(self.random_state)
        self._plan(seed)  # parameters first: they are quicker to check than data
        return self._fit(self._problem(self._training_corpus(X, reading), seed), callbacks)

    def _plan(self, seed: int) -> Plan:
        parameters.check_parameters(self)
        self._concentrations()
        if self.max_topics > MOST_TOPICS:
            raise InputError(f"max_topics={self.max_topics} must be at most {MOST_TOPICS}.")
        if self.initial_topics > self.max_topics:
            raise InputError(
                f"initial_topics={self.initial_topics} is more than max_topics={self.max_topics}; make one of them fit."
            )
        return Plan(
            seed=seed,
            max_iter=stopping.first_sweeps(self.max_iter),
            until=stopping.stopping_rule(self.max_iter),
            burn_in=None,
            thin=1,
            estimator=self.estimator,
            trace_every=self.trace_every,
            checkpoint_every=self.checkpoint_every,
            schedule=Schedule(n_jobs=resolve_jobs(self.n_jobs)),
        )

    def _concentrations(self) -> tuple[tuple[float, float], tuple[GammaPrior, GammaPrior]]:
        """Where concentrations of documents and of topics start, and the priors under which they are learned."""
        doc, of_docs = _concentration("doc_concentration", self.doc_concentration, _DOC_PRIOR)
        topic, of_topics = _concentration("topic_concentration", self.topic_concentration, _TOPIC_PRIOR)
        return (doc, topic), (of_docs, of_topics)

    def _problem(self, corpus: Corpus, seed: int) -> Problem:
        return Problem(
            corpus=corpus,
            sampled=corpus,
            sampler=self._chain_sampler(),
            prior=lambda: self._prior(corpus),
            plan=self._plan(seed),
            n_chains=self.n_chains,
        )

    def _stored_problem(self, stored: Stored, seed: int) -> Problem:
        return self._problem(self._corpus_in(stored), seed)

    def _chain_sampler(self) -> Sampler:
        return process_sampler(*self._concentrations(), self.max_topics)

    def _prior(self, corpus: Corpus) -> Prior:
        """Of a chain's first topics, each of which will have a token."""
        k = min(self.initial_topics, corpus.n_tokens)
        beta = inputs.check_prior("topic_word_prior", self.topic_word_prior, corpus.n_words, "words", 0.1)
        (start, _), _ = self._concentrations()
        return make_prior(np.full(k, start / (k + 1)), beta, corpus.n_docs)

    # -- what was learned ----------------------------------------------------------------------------------------

    def _publish(self, problem: Problem, chains: list[Chain]) -> None:
        super()._publish(problem, chains)
        self._level = chains[self.best_chain_].state.level.copy()

    def _publish_all(
        self, problem: Problem, chains: list[Chain], values: FloatArray, interrupted: bool,
        names: SavedNames | None = None,
    ) -> None:  # fmt: skip
        """Names of a run that was continued are dropped: sweeps add and drop topics, and number them anew."""
        super()._publish_all(problem, chains, values, interrupted)
        if names is not None:
            warn(
                "the names of topics are dropped, since sweeps add topics and drop others, so that numbers no longer "
                "say which topics had been named. Name them again with set_topic_names.",
                TopicNamesWarning,
            )

    def _report(self, problem: Problem, best: Chain) -> bool:
        if len(best.prior.alpha[0]) < self.max_topics:
            return super()._report(problem, best)
        warn(
            f"the last sample has max_topics={self.max_topics} topics, so that their number says nothing; give a "
            "higher max_topics, or a larger topic_word_prior, which makes topics broader and fewer.",
            PriorsWarning,
        )
        return True

    @property
    def _recorded(self) -> Recorded:
        return PROCESS

    @property
    def n_topics_(self) -> int:
        """Number of topics in the published sample."""
        check_is_fitted(self, "seed_")
        return len(self.alpha_)

    @property
    def n_topics_trace_(self) -> tuple[Int64Array, Int64Array]:
        """Sweeps, and numbers of topics there, of the published chain (tuple of ndarray)."""
        return np.array(self.trace_.sweep, np.int64), np.array(self.trace_.n_topics, np.int64)

    @property
    def doc_concentration_(self) -> float:
        """α₀, as given or as drawn last (float)."""
        check_is_fitted(self, "seed_")
        return float(self._level[DOC])

    @property
    def topic_concentration_(self) -> float:
        """γ, as given or as drawn last (float)."""
        check_is_fitted(self, "seed_")
        return float(self._level[TOPIC])

    @property
    def topic_weights_(self) -> FloatArray:
        """Weights β of the topics: array of shape (n_topics,)."""
        return np.asarray(self.alpha_ / self.doc_concentration_)

    def _fitted_numbers(self) -> list[Any]:
        return [*super()._fitted_numbers(), self._level]

    # -- files ---------------------------------------------------------------------------------------------------

    def _own_arrays(self) -> dict[str, AnyArray]:
        return {"level": self._level}

    def _set_own_arrays(self, arrays: dict[str, AnyArray]) -> None:
        self._level = arrays["level"]

    def _check_own(self, file: Contents) -> None:
        stored_checks.check_positive_alpha(file)
        check_level(file)
        file.expect_no_others()
