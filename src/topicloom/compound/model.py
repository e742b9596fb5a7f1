"""Compound LDA: topics shared by collections, each with a topic mixture of its own."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.compound import groups as _groups
from topicloom.compound import vem
from topicloom.compound.collections import CollectionModel
from topicloom.compound.mixture_kernels import SMALLEST
from topicloom.compound.mixtures import Mixing, Mixtures, start_mixtures
from topicloom.compound.sampler import with_mixtures
from topicloom.compound.variational import with_collections
from topicloom.corpus._checks import as_numbers, shown
from topicloom.corpus.corpus import Corpus
from topicloom.engine.checks import TOPICS, VARIATIONAL, Recorded
from topicloom.engine.estimates import Estimator
from topicloom.engine.estimator import inputs
from topicloom.engine.estimator.fitted import Problem
from topicloom.engine.multipath import DocTopicPaths
from topicloom.engine.prior import Prior, make_prior
from topicloom.engine.run import Callback, Chain, Plan
from topicloom.engine.sampler import Sampler
from topicloom.errors import InputError
from topicloom.lda.gibbs import get_sampler
from topicloom.lda.variational.batch import VariationalState
from topicloom.lda.variational.sampler import Settings, memory_note, variational_sampler, word_counts
from topicloom.lda.variational_model import (
    expected_theta,
    variational_fold,
    variational_perplexity,
    variational_plan,
    warn_not_converged,
)
from topicloom.numerics.rng import Purpose, stream
from topicloom.numerics.variates import dirichlets

Method = Literal["ags", "mgs", "vem"]
METHODS: tuple[str, ...] = get_args(Method)
_START = 1.0  # γ, and α where it is learned, before anything is known
_DRAWS = 200  # from the variational distribution of π
_ADAPTED = 100  # sweeps that adapt step sizes; no option moves it, so that none but those of sampling changes a chain


class CompoundLDA(CollectionModel):
    """Compound LDA (George, Xia and Michailidis 2019): documents in collections that share their topics.

    Collection j has a mixture of topics π_j ~ Dirichlet(α, …, α), and its documents θ_d ~ Dirichlet(γπ_j). With one
    collection this is LDA with a learned asymmetric base measure. ``X`` is as in ``LDA``.

    Parameters
    ----------
    n_components : number of topics K.
    method : "ags" draws mixtures by auxiliary variables, "mgs" by Langevin dynamics, each after a sweep that draws
        topics; "vem" is variational, without sampling.
    concentration : γ, how close documents are to their collection's mixture. None starts from 1 and is learned.
    collection_prior : α, a number or one a topic. None learns one number under a gamma prior, whose shape and rate are
        ``collection_prior_gamma``.
    topic_word_prior : η, a number, or one a word. None starts from 1/K and is learned.
    mixtures : π, one for all collections [K] or one for each [J, K], if it is known and not to be learned.
    burn_in, thin : draws of π are kept from sweep ``burn_in`` on (None: of the second half of the sweeps), those
        of every ``thin``-th sweep. With a ``burn_in`` topics and documents are averaged over these sweeps, too, as in
        ``LDA``; without, the last sweep is the one sample of them.
    n_langevin, target_acceptance : steps of "mgs" in a sweep, and the share of them that is to be accepted: step sizes
        are adapted to it for 100 sweeps, and never after. A ``burn_in`` of at least 100 keeps none of these.
    tol, max_doc_update_iter, mean_change_tol : of "vem": share of tokens that an iteration may move between topics and
        still count as converged; rounds for a document in an iteration, and the change a topic at which it is done.
    learn_priors : None learns the priors that were left as None, True learns γ and η, False none.
    sampler, estimator, max_iter, n_chains, n_paths, doc_topic_paths, n_shards, n_mh, seed_words, seed_weight,
    predict_burn_in, predict_thin, predict_samples, predict_chains, trace_every, checkpoint_dir, checkpoint_every,
    n_jobs, random_state, verbose : as in ``LDA``.

    Attributes
    ----------
    collections_, collection_docs_ : labels of the collections, sorted, and their numbers of documents.
    pi_, pi_draws_ : [J, K] mean of π, and [S, J, K] its posterior draws. ``pi_trace_`` has all recorded ones.
    gamma_, collection_prior_ : γ and α [K], as given or learned.
    alpha_ : [K] prior of a document of which no collection is known: γ times the mean of π.
    components_, topic_word_, doc_topic_, beta_, chains_, best_chain_, log_joint_, traces_, vocabulary_, empty_docs_,
    n_iter_, interrupted_, seed_, fingerprint_ : as in ``LDA``.
    """

    _DOC_PRIOR: ClassVar[str] = "concentration"
    _GONE: ClassVar[tuple[str, ...]] = ()  # what LDA has no more is still here

    def __init__(
        self,
        n_components: int = 10,
        *,
        method: Method = "ags",
        concentration: float | None = None,
        collection_prior: float | Sequence[float] | AnyArray | None = 1.0,
        collection_prior_gamma: tuple[float, float] = (1.0, 1.0),
        topic_word_prior: float | Sequence[float] | AnyArray | None = None,
        mixtures: Sequence[float] | Sequence[Sequence[float]] | AnyArray | None = None,
        sampler: str = "auto",
        estimator: Estimator = "cgs_p",
        max_iter: int = 500,
        burn_in: int | None = None,
        thin: int = 5,
        n_chains: int = 1,
        n_paths: int = 1,
        doc_topic_paths: DocTopicPaths = "mean",
        n_shards: int = 1,
        n_mh: int = 2,
        n_langevin: int = 5,
        target_acceptance: float = 0.574,
        tol: float = 1e-3,
        max_doc_update_iter: int = 10,
        mean_change_tol: float = 1e-3,
        learn_priors: bool | None = None,
        seed_words: inputs.SeedWords | None = None,
        seed_weight: float = 0.5,
        predict_burn_in: int = 20,
        predict_thin: int = 2,
        predict_samples: int = 5,
        predict_chains: int = 2,
        trace_every: int = 10,
        checkpoint_dir: str | Path | None = None,
        checkpoint_every: int = 50,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.concentration = concentration
        self.collection_prior = collection_prior
        self.collection_prior_gamma = collection_prior_gamma
        self.topic_word_prior = topic_word_prior
        self.mixtures = mixtures
        self.sampler = sampler
        self.estimator = estimator
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.n_paths = n_paths
        self.doc_topic_paths = doc_topic_paths
        self.n_shards = n_shards
        self.n_mh = n_mh
        self.n_langevin = n_langevin
        self.target_acceptance = target_acceptance
        self.tol = tol
        self.max_doc_update_iter = max_doc_update_iter
        self.mean_change_tol = mean_change_tol
        self.learn_priors = learn_priors
        self.seed_words = seed_words
        self.seed_weight = seed_weight
        self.predict_burn_in = predict_burn_in
        self.predict_thin = predict_thin
        self.predict_samples = predict_samples
        self.predict_chains = predict_chains
        self.trace_every = trace_every
        self.checkpoint_dir = checkpoint_dir
        self.checkpoint_every = checkpoint_every
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- fitting -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, callbacks: Sequence[Callback] = ()) -> Self:
        """Learn topics, and each collection's mixture of them.

        ``groups`` has the collection of each document, a label of any hashable kind. ``y`` is the same, in the place
        where scikit-learn's tools pass it. Without both a corpus's own groups are taken. Callbacks are as in ``LDA``.
        """
        inputs.check_call(self, callbacks)
        self._plan(0)  # parameters first: they are quicker to check than data
        corpus = _groups.training_groups(self._training_corpus(X), groups, y)
        return super().fit(corpus, callbacks=callbacks)

    def fit_transform(self, X: Any, y: Any = None, *, groups: Any = None, **fit_params: Any) -> FloatArray:
        """Learn, and give the topic proportions of the same documents, sampled anew as those of new ones.

        With ``groups`` each has the prior of its collection; with ``y`` it is ``fit(X, y).transform(X)``, as of every
        transformer of scikit-learn, whose ``transform`` is not given ``y``.
        """
        return self.fit(X, y, groups=groups, **fit_params).transform(X, groups)

    def _plan(self, seed: int) -> Plan:
        inputs.check_choice("method", self.method, METHODS)
        plan = super()._plan(seed)
        inputs.check_whole("n_langevin", self.n_langevin, 1)
        inputs.check_whole("max_doc_update_iter", self.max_doc_update_iter, 1)
        for name in ("tol", "mean_change_tol"):
            inputs.check_number(name, getattr(self, name), 0.0, np.inf)
        if not 0.05 <= inputs.check_number("target_acceptance", self.target_acceptance, 0.0, 1.0) <= 0.95:
            raise InputError(f"target_acceptance={self.target_acceptance} must be from 0.05 to 0.95.")
        if self.concentration is not None:
            inputs.check_positive("concentration", self.concentration)
        learn_gamma, alpha_prior = self._learned()
        if self.mixtures is not None and alpha_prior is not None:
            raise InputError("mixtures are given, so there is nothing to learn collection_prior from; give it, too.")
        if self.method != "vem":
            return replace(plan, learn_more=learn_gamma)
        for name, given in (("n_paths", self.n_paths != 1), ("mixtures", self.mixtures is not None)):
            if given:
                raise InputError(f'{name} is for sampling; use method="ags" or "mgs", or leave it out.')
        more = learn_gamma or alpha_prior is not None
        plan = variational_plan(self, seed, False, plan.learn_beta, more)
        return replace(plan, schedule=plan.schedule._replace(n_shards=1))

    def _learned(self) -> tuple[bool, tuple[float, float] | None]:
        """Whether γ is learned, and the gamma prior under which α is."""
        alpha_prior = None
        if self.collection_prior is None and self.learn_priors is not False:
            alpha_prior = _gamma_prior(self.collection_prior_gamma)
        return self.concentration is None if self.learn_priors is None else self.learn_priors, alpha_prior

    def _learns_alpha(self) -> bool:
        return False  # α of documents is γπ_j, and drawn

    def _learns_rows(self) -> bool:
        return self._learned()[0]

    def _problem(self, corpus: Corpus, seed: int) -> Problem:
        problem = super()._problem(corpus, seed)
        if self.method != "vem":
            return problem
        note = partial(memory_note, corpus, "vb", self.n_components, self.n_chains, self.method)
        return problem._replace(threads_by_chain=False, note=lambda: f"{note()}.")

    def _sampler_for(self, corpus: Corpus) -> Sampler:
        rows = np.tile(_groups.collections_of(corpus)[1], self.n_paths)
        learn_gamma, alpha_prior = self._learned()
        if self.method == "vem":
            collections = with_collections(vem.Settings(*self._hyper(), learn_gamma, alpha_prior), rows)
            settings = Settings("vb", self.tol, self.mean_change_tol, self.max_doc_update_iter, name="vem")
            return variational_sampler(settings, corpus, collections)
        mixing = Mixing(
            method="fixed" if self.mixtures is not None else self.method,  # type: ignore[arg-type]
            learn_gamma=learn_gamma,
            alpha_prior=alpha_prior,
            n_steps=self.n_langevin,
            acceptance=self.target_acceptance,
            adapt_until=_ADAPTED,
            thin=self.thin,
        )
        return with_mixtures(get_sampler(self.sampler), mixing, self._start_mixtures(corpus), rows)

    def _prior(self, corpus: Corpus) -> Prior:
        k = self.n_components
        beta = inputs.check_prior("topic_word_prior", self.topic_word_prior, corpus.n_words, "words", 1 / k)
        boosts = inputs.seed_boosts(self.seed_words, self.seed_weight, corpus, k)
        _, row = _groups.collections_of(corpus)
        return make_prior(self._start_mixtures(corpus).rows(), beta, corpus.n_docs, boosts, row)

    def _start_mixtures(self, corpus: Corpus) -> Mixtures:
        labels, _ = _groups.collections_of(corpus)
        return start_mixtures(self._first_pi(len(labels)), *self._hyper())

    def _hyper(self) -> tuple[float, FloatArray]:
        """γ and α, as given or as they start."""
        alpha = inputs.check_prior("collection_prior", self.collection_prior, self.n_components, "topics", _START)
        return float(_START if self.concentration is None else self.concentration), alpha

    def _first_pi(self, n_collections: int) -> FloatArray:
        k = self.n_components
        if self.mixtures is None:
            return np.full((n_collections, k), 1 / k)
        pi = as_numbers("mixtures", self.mixtures)
        rows = np.tile(pi, (n_collections, 1)) if pi.ndim == 1 else pi
        if rows.shape != (n_collections, k):
            raise InputError(
                f"mixtures has shape {pi.shape}; give {k} shares, or a row of them for each of {n_collections} "
                "collections, in sorted order."
            )
        if not np.all(rows >= SMALLEST) or np.any(np.abs(rows.sum(axis=1) - 1) > 1e-6):
            raise InputError("mixtures must have positive shares that sum to 1 for each collection.")
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True  # unless groups are given, or a corpus brings them
        return tags

    # -- what was learned ----------------------------------------------------------------------------------------

    def _publish(self, problem: Problem, chains: list[Chain]) -> None:
        super()._publish(problem, chains)
        chain = chains[self.best_chain_]
        if self.method == "vem":
            self.converged_ = chain.converged
            self._publish_variational(problem.corpus, chain.state)
            return
        mixtures = chain.extra
        self.gamma_, self.collection_prior_ = mixtures.gamma, mixtures.alpha
        draws = np.array(mixtures.draws) if mixtures.draws else mixtures.pi[None]
        sweeps = np.array(mixtures.sweeps if mixtures.draws else [chain.sweep], np.int64)
        self._publish_collections(problem.corpus, (sweeps, draws))

    def _warn_unfinished(self, problem: Problem, best: Chain) -> None:
        if self.method == "vem":
            warn_not_converged(self, problem.plan, best)

    def _publish_variational(self, corpus: Corpus, state: VariationalState) -> None:
        """As of a chain, with draws from the Dirichlet distributions q(π_j)."""
        self.gamma_, self.collection_prior_ = float(state.hyper[0, 0]), state.hyper[0, 1:]
        draws = np.empty((_DRAWS, *state.tau.shape))
        rng = stream(self.seed_, Purpose.MIXTURE_DRAWS)
        for draw in draws:
            dirichlets(rng, state.tau, draw)
        self._publish_collections(corpus, (np.full(_DRAWS, self.n_iter_), draws), vem.split(state.tau)[0])

    @property
    def _recorded(self) -> Recorded:
        return VARIATIONAL if self.method == "vem" else TOPICS

    # -- the variational method ----------------------------------------------------------------------------------

    def _word_counts_of(self, chain: Chain) -> FloatArray:
        return word_counts(chain) if self.method == "vem" else super()._word_counts_of(chain)

    def _doc_topic_of(self, chain: Chain) -> FloatArray:
        return expected_theta(chain) if self.method == "vem" else super()._doc_topic_of(chain)

    def estimate(self, estimator: Estimator) -> tuple[FloatArray, FloatArray]:
        """(θ [D, K], φ [K, V]) of the training corpus by either estimator, from the published chain's last state."""
        if self.method == "vem":
            raise InputError(
                'estimators are ways to read drawn topics, and method="vem" draws none; see doc_topic_ and topic_word_.'
            )
        return super().estimate(estimator)

    def _check_tokens(self, corpus: Corpus) -> None:
        if self.method != "vem":
            super()._check_tokens(corpus)

    def _fold(self, corpus: Corpus) -> FloatArray:
        return variational_fold(self, corpus, "vb") if self.method == "vem" else super()._fold(corpus)

    def _perplexity(self, corpus: Corpus) -> float:
        return variational_perplexity(self, corpus) if self.method == "vem" else super()._perplexity(corpus)


def _gamma_prior(given: Any) -> tuple[float, float]:
    values = tuple(given) if isinstance(given, list | tuple | np.ndarray) else ()
    if len(values) != 2:
        raise InputError(f"collection_prior_gamma={shown(given)} must be a pair: shape and rate of α's gamma prior.")
    shape, rate = (inputs.check_positive("collection_prior_gamma", value) for value in values)
    return shape, rate
