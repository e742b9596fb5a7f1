"""Compound LDA: topics shared by collections, each with a topic mixture of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypedDict, Unpack, get_args

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.compound import groups as _groups
from topicloom.compound import vem
from topicloom.compound.collections import CollectionModel
from topicloom.compound.mixtures import SMALLEST_SHARE, Mixing, Mixtures, start_mixtures
from topicloom.compound.sampler import mixture_probe_names, with_mixtures
from topicloom.corpus._checks import as_numbers
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.inputs import ReadingBesideGroups
from topicloom.engine import draws
from topicloom.engine.checks import TOPICS, VARIATIONAL, Recorded
from topicloom.engine.estimates import Estimator
from topicloom.engine.estimator import inputs, parameters
from topicloom.engine.estimator.fitted import Problem
from topicloom.engine.estimator.reading import check_one_target, read_once
from topicloom.engine.multipath import DocTopicPaths
from topicloom.engine.prior import Prior, make_prior
from topicloom.engine.run import Callback, Chain, Plan
from topicloom.engine.sampler import Sampler
from topicloom.engine.stopping import MaxIter
from topicloom.errors import InputError
from topicloom.lda.gibbs import get_sampler
from topicloom.lda.model import FIRST_PATH, LDA
from topicloom.lda.variational.sampler import Settings, memory_note, variational_sampler, word_counts
from topicloom.lda.variational.state import VariationalState
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
_GAMMA_PRIOR = dict.fromkeys(("shape", "rate"), parameters.Option(1.0, parameters.positive))
_ADAPTED = 100  # sweeps that adapt step sizes; no option moves it, so that none but those of sampling changes a chain


class MethodOptions(TypedDict, total=False):
    """How mixtures are learned. What is left out is the model's default."""

    n_langevin: int
    target_acceptance: float
    tol: float
    max_doc_update_iter: int
    mean_change_tol: float


class GammaPrior(TypedDict, total=False):
    """The gamma prior under which a number is learned: shape and rate, each 1 if left out."""

    shape: float
    rate: float


def _gamma_prior(name: str, given: Any) -> tuple[float, float]:
    own = parameters.read_dict(name, given, _GAMMA_PRIOR)
    return float(own["shape"]), float(own["rate"])


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
    collection_prior : α, a number or one per topic. None learns one number under a gamma prior of shape 1 and rate 1;
        a dict with ``shape`` and ``rate`` does so under another one.
    topic_word_prior : η, positive float, or array of shape (n_words,). None starts from 1/K and is learned.
    mixtures : π, one for all collections [K] or one for each [J, K], if it is known and not to be learned.
    burn_in, thin : draws of π are kept from sweep ``burn_in`` on (None: of the second half of the sweeps), those
        of every ``thin``-th sweep. With a ``burn_in`` topics and documents are averaged over these sweeps, too, as in
        ``LDA``; without, the last sweep is the one sample of them.
    method_options : dict of options of "mgs" and "vem". Of "mgs": ``n_langevin`` (5), steps in a sweep, and
        ``target_acceptance`` (0.574), the share of them that is to be accepted. Step sizes are adapted to it for 100
        sweeps, and never after. A ``burn_in`` of at least 100 keeps none of these. Of "vem": ``tol`` (1e-3), share of
        tokens that an iteration may move between topics and still count as converged; ``max_doc_update_iter`` (10),
        rounds per document in an iteration; ``mean_change_tol`` (1e-3), the change per topic at which one is done.
    learn_priors : None learns the priors that were left as None, True learns γ and η, False none.
    sampler, sampler_options, estimator, max_iter, keep_draws, n_chains, n_paths, n_shards, seed_words, seed_weight,
    predict_options, trace_every, checkpoint_dir, checkpoint_every, n_jobs, random_state, verbose : as in ``LDA``.

    Attributes
    ----------
    collections_, collection_docs_ : labels of the collections, sorted, and their numbers of documents.
    pi_, pi_draws_ : [J, K] mean of π, and [S, J, K] its posterior draws. ``pi_trace_`` has all recorded ones.
    gamma_, collection_prior_ : γ and α [K], as given or learned.
    alpha_ : [K] prior of a document of which no collection is known: γ times the mean of π.
    components_, topic_word_, doc_topic_, beta_, chains_, best_chain_, log_joint_, traces_, draws_, vocabulary_,
    empty_docs_, n_iter_, interrupted_, seed_, fingerprint_ : as in ``LDA``.
    """

    _DOC_PRIOR: ClassVar[str] = "concentration"
    _CHECKS: ClassVar[Mapping[str, parameters.Check]] = {
        "method": parameters.choice(METHODS),
        "concentration": parameters.or_none(parameters.positive),
        "collection_prior": lambda name, value: isinstance(value, Mapping) and _gamma_prior(name, value),
    }
    _OPTIONS: ClassVar[Mapping[str, parameters.Options]] = {
        **LDA._OPTIONS,
        "method_options": {
            "n_langevin": parameters.Option(5, parameters.whole(1)),
            "target_acceptance": parameters.Option(0.574, parameters.number(0.05, 0.95)),
            "tol": parameters.Option(1e-3, parameters.number(0.0)),
            "max_doc_update_iter": parameters.Option(10, parameters.whole(1)),
            "mean_change_tol": parameters.Option(1e-3, parameters.number(0.0)),
        },
    }
    _GONE: ClassVar[Mapping[str, str]] = {
        "doc_topic_paths": FIRST_PATH,
        "collection_prior_gamma": 'write collection_prior={"shape": …, "rate": …}',
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        method: Method = "ags",
        concentration: float | None = None,
        collection_prior: float | Sequence[float] | AnyArray | GammaPrior | None = 1.0,
        topic_word_prior: float | Sequence[float] | AnyArray | None = None,
        mixtures: Sequence[float] | Sequence[Sequence[float]] | AnyArray | None = None,
        sampler: str = "auto",
        estimator: Estimator = "cgs_p",
        max_iter: MaxIter = 500,
        burn_in: int | None = None,
        thin: int = 5,
        keep_draws: draws.KeepDraws | None = None,
        n_chains: int = 1,
        n_paths: int = 1,
        n_shards: int = 1,
        sampler_options: parameters.SamplerOptions | None = None,
        method_options: MethodOptions | None = None,
        learn_priors: bool | None = None,
        seed_words: inputs.SeedWords | None = None,
        seed_weight: float = 0.5,
        predict_options: parameters.PredictOptions | None = None,
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
        self.topic_word_prior = topic_word_prior
        self.mixtures = mixtures
        self.sampler = sampler
        self.estimator = estimator
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.thin = thin
        self.keep_draws = keep_draws
        self.n_chains = n_chains
        self.n_paths = n_paths
        self.n_shards = n_shards
        self.sampler_options = sampler_options
        self.method_options = method_options
        self.learn_priors = learn_priors
        self.seed_words = seed_words
        self.seed_weight = seed_weight
        self.predict_options = predict_options
        self.trace_every = trace_every
        self.checkpoint_dir = checkpoint_dir
        self.checkpoint_every = checkpoint_every
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- fitting -------------------------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any = None, *, groups: Any = None, callbacks: Sequence[Callback] = (),
        **reading: Unpack[ReadingBesideGroups],
    ) -> Self:  # fmt: skip
        """Learn topics, and each collection's mixture of them.

        ``groups`` has the collection of each document, a label of any hashable kind. ``y`` is the same, in the place
        where scikit-learn's tools pass it. Without both the documents' own groups are taken: those of a corpus, or of a
        column, ``fit(frame, text="body", group="year")``. All else is as of ``LDA.fit``.
        """
        inputs.check_callbacks(callbacks)
        self._plan(0)  # parameters first: they are quicker to check than data
        check_one_target(groups, reading, self._TARGET, "groups")
        corpus = _groups.training_groups(self._training_corpus(X, reading, y), groups, y)
        return super().fit(corpus, callbacks=callbacks)

    def fit_transform(self, X: Any, y: Any = None, *, groups: Any = None, **fit_params: Any) -> FloatArray:
        """Learn, and give the topic proportions of the same documents, sampled anew as those of new ones.

        With ``groups`` each has the prior of its collection; with ``y`` it is ``fit(X, y).transform(X)``, as of every
        transformer of scikit-learn, whose ``transform`` is not given ``y``.
        """
        how = {name: fit_params.pop(name) for name in list(fit_params) if name in ReadingBesideGroups.__annotations__}
        check_one_target(y, how, self._TARGET)
        check_one_target(groups, how, self._TARGET, "groups")
        X = read_once(X, how)
        return self.fit(X, y, groups=groups, **fit_params)._transform(self._grouped(X, groups, {}))

    @property
    def _samples(self) -> bool:
        return self.method != "vem"

    def _plan(self, seed: int) -> Plan:
        plan = super()._plan(seed)
        learn_gamma, alpha_prior = self._learned()
        if self.mixtures is not None and alpha_prior is not None:
            raise InputError("mixtures are given, so there is nothing to learn collection_prior from; give it, too.")
        if self.method != "vem":
            return replace(plan, learn_more=learn_gamma)
        for name, given in (
            ("n_paths", self.n_paths != 1),
            ("mixtures", self.mixtures is not None),
            ("keep_draws", self.keep_draws is not None),
        ):
            if given:
                raise InputError(f'{name} is for sampling; use method="ags" or "mgs", or leave it out.')
        more = learn_gamma or alpha_prior is not None
        plan = variational_plan(self, seed, False, plan.learn_beta, more)
        return replace(plan, schedule=plan.schedule._replace(n_shards=1))

    def _learned(self) -> tuple[bool, tuple[float, float] | None]:
        """Whether γ is learned, and the gamma prior under which α is."""
        alpha_prior = None
        if self._alpha_is_free() and self.learn_priors is not False:
            alpha_prior = _gamma_prior("collection_prior", self.collection_prior)
        return self.concentration is None if self.learn_priors is None else self.learn_priors, alpha_prior

    def _alpha_is_free(self) -> bool:
        return self.collection_prior is None or isinstance(self.collection_prior, Mapping)

    def _method_options(self) -> dict[str, Any]:
        return parameters.read_options(self, "method_options")

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
        own = self._method_options()
        if self.method == "vem":
            collections = vem.with_collections(vem.Settings(*self._hyper(), learn_gamma, alpha_prior), rows)
            settings = Settings("vb", own["tol"], own["mean_change_tol"], own["max_doc_update_iter"], name="vem")
            return variational_sampler(settings, corpus, collections)
        mixing = Mixing(
            method="fixed" if self.mixtures is not None else self.method,  # type: ignore[arg-type]
            learn_gamma=learn_gamma,
            alpha_prior=alpha_prior,
            n_steps=own["n_langevin"],
            acceptance=own["target_acceptance"],
            adapt_until=_ADAPTED,
            thin=self.thin,
        )
        return with_mixtures(self._started(get_sampler(self.sampler)), mixing, self._start_mixtures(corpus), rows)

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
        given = None if self._alpha_is_free() else self.collection_prior
        alpha = inputs.check_prior("collection_prior", given, self.n_components, "topics", _START)
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
        if not np.all(rows >= SMALLEST_SHARE) or np.any(np.abs(rows.sum(axis=1) - 1) > 1e-6):
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
            warn_not_converged(self._method_options()["tol"], problem.plan, best)

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

    def _probe_names(self) -> list[str]:
        return [*super()._probe_names(), *mixture_probe_names(len(self.collections_))]

    # -- the variational method ----------------------------------------------------------------------------------

    def _word_counts_of(self, chain: Chain) -> FloatArray:
        return word_counts(chain) if self.method == "vem" else super()._word_counts_of(chain)

    def _doc_topic_of(self, chain: Chain) -> FloatArray:
        return expected_theta(chain) if self.method == "vem" else super()._doc_topic_of(chain)

    def estimate(self, estimator: Estimator, *, paths: DocTopicPaths = "mean") -> tuple[FloatArray, FloatArray]:
        """As of ``LDA``."""
        if self.method == "vem":
            raise InputError(
                'estimators are ways to read drawn topics, and method="vem" draws none; see doc_topic_ and topic_word_.'
            )
        return super().estimate(estimator, paths=paths)

    def _check_tokens(self, corpus: Corpus) -> None:
        if self.method != "vem":
            super()._check_tokens(corpus)

    def _fold(self, corpus: Corpus) -> FloatArray:
        return self._fold_by_method(corpus) if self.method == "vem" else super()._fold(corpus)

    def _word_topics(self, corpus: Corpus) -> FloatArray:
        return self._fold_by_method(corpus, by_word=True) if self.method == "vem" else super()._word_topics(corpus)

    def _fold_by_method(self, corpus: Corpus, by_word: bool = False) -> FloatArray:
        own = self._method_options()
        return variational_fold(self, corpus, "vb", own["mean_change_tol"], own["max_doc_update_iter"], by_word)

    def _perplexity(self, corpus: Corpus) -> float:
        return variational_perplexity(self, corpus) if self.method == "vem" else super()._perplexity(corpus)

    @classmethod
    def _renamed(cls, params: dict[str, Any]) -> dict[str, Any]:
        found = super()._renamed(params)
        if "collection_prior_gamma" in params and found.get("collection_prior") is None:
            found["collection_prior"] = dict(zip(_GAMMA_PRIOR, params["collection_prior_gamma"], strict=True))
        return found
