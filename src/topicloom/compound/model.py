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
from topicloom.engine.prior import Prior, make_prior
from topicloom.engine.run import Callback, Chain, Plan
from topicloom.engine.sampler import Sampler
from topicloom.engine.stopping import MaxIter
from topicloom.errors import InputError
from topicloom.lda.gibbs import get_sampler
from topicloom.lda.model import FIRST_PATH, LDA
from topicloom.lda.statement import LearnPriors
from topicloom.lda.variational.sampler import Settings, memory_note, variational_sampler
from topicloom.lda.variational.state import VariationalState
from topicloom.lda.variational_model import variational_plan, warn_not_converged
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
    collection this is LDA with a learned asymmetric base measure.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K.
    method : {"ags", "mgs", "vem"}, default="ags"
        "ags" draws mixtures by auxiliary variables and "mgs" by Langevin dynamics, each after a sweep that draws
        topics. "vem" is variational, without sampling.
    concentration : float, default=None
        γ, how close documents are to their collection's mixture. None starts at 1 and is learned.
    collection_prior : float, array-like of shape (n_components,), dict or None, default=1.0
        α. None learns one number under a gamma prior of shape 1 and rate 1; a dict with ``shape`` and ``rate`` does so
        under another one.
    topic_word_prior : float or array-like of shape (n_words,), default=None
        η. None starts at 1/K and is learned.
    mixtures : array-like of shape (n_components,) or (n_collections, n_components), default=None
        π, if it is known and not to be learned.
    burn_in : int, default=None
        Draws of π are kept from this sweep on; None keeps those of the second half of the sweeps. With a ``burn_in``,
        topics and documents are averaged over these sweeps, too; without, the last sweep is the one sample of them.
    thin : int, default=5
        Sweeps from one draw to the next.
    method_options : dict, default=None
        Options of "mgs" and "vem".

        * ``n_langevin`` (5), of "mgs": steps in a sweep.
        * ``target_acceptance`` (0.574), of "mgs": share of steps to be accepted. Step sizes are adapted to it for 100
          sweeps, and never after, so a ``burn_in`` of at least 100 keeps none of these.
        * ``tol`` (1e-3), of "vem": share of tokens that an iteration may move and still count as converged.
        * ``max_doc_update_iter`` (10), of "vem": most rounds per document in an iteration.
        * ``mean_change_tol`` (1e-3), of "vem": change per topic below which a document is done.
    learn_priors : bool or "symmetric", default=None
        None learns the priors that were left as None, True learns γ and η, False neither. "symmetric" is as None, since
        each of them is one number.
    sampler, sampler_options, estimator, max_iter, keep_draws, n_chains, n_paths, n_shards, seed_words, seed_weight
        As in ``LDA``.
    predict_options, trace_every, checkpoint_dir, checkpoint_every, n_jobs, random_state, verbose
        As in ``LDA``.

    Attributes
    ----------
    collections_ : tuple
        Labels of the collections, sorted.
    collection_docs_ : ndarray of shape (n_collections,)
        Number of documents of each collection.
    pi_ : ndarray of shape (n_collections, n_components)
        Posterior mean of the mixtures.
    pi_draws_ : ndarray of shape (n_draws, n_collections, n_components)
        Posterior draws of the mixtures.
    pi_trace_ : tuple of ndarray
        Sweeps, and all recorded draws.
    gamma_ : float
        γ, as given or learned.
    collection_prior_ : ndarray of shape (n_components,)
        α, as given or learned.
    alpha_ : ndarray of shape (n_components,)
        Prior of a document of which no collection is known: γ times the mean of π.
    beta_ : ndarray of shape (n_words,)
        η, as given or learned.
    components_ : ndarray of shape (n_components, n_words)
        Expected counts of words in topics, plus η.
    topic_word_ : ndarray of shape (n_components, n_words)
        Probability of each word in each topic.
    doc_topic_ : ndarray of shape (n_docs, n_components)
        Share of each topic in each training document.
    converged_ : bool
        Of "vem": whether the published chain has converged.
    vocabulary_ : tuple of str
        The words.
    log_joint_ : ndarray of shape (n_chains,)
        Last log p(w, z | π, γ, η) of each chain, or its bound.
    chains_, best_chain_, trace_, traces_, draws_, empty_docs_, n_iter_, interrupted_, seed_, fingerprint_
        As in ``LDA``.

    See Also
    --------
    LDA : Documents without collections.
    topicloom.explore.plots.by_group : Shares of topics by collection, as a picture.

    Examples
    --------
    >>> from topicloom import CompoundLDA
    >>> texts = ["river boat river", "boat river boat", "money bank money", "bank money bank"] * 5
    >>> groups = ["water", "water", "trade", "trade"] * 5
    >>> model = CompoundLDA(2, max_iter=60, random_state=0).fit(texts, groups=groups)
    >>> model.collections_, model.pi_.shape
    (('trade', 'water'), (2, 2))
    >>> len(model.prevalence(frame="rows"))
    4
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
        n_shards: int | Literal["auto"] = "auto",
        sampler_options: parameters.SamplerOptions | None = None,
        method_options: MethodOptions | None = None,
        learn_priors: LearnPriors = None,
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

        Parameters
        ----------
        X : texts, a data frame, a matrix of counts, a Corpus or anything else that ``LDA.fit`` takes
            The documents.
        y : sequence, default=None
            Another place for ``groups``, which scikit-learn's tools know.
        groups : sequence of hashable labels of shape (n_docs,), default=None
            The collection of each document. None takes the documents' own groups: those of a corpus, or of a column,
            ``fit(frame, text="body", group="year")``.
        callbacks, **reading
            As of ``LDA.fit``.

        Returns
        -------
        self : CompoundLDA
            The fitted model.

        Raises
        ------
        InputError
            If a document has no collection, or ``groups`` and ``y`` differ.
        """
        inputs.check_callbacks(callbacks)
        self._plan(0)  # parameters first: they are quicker to check than data
        check_one_target(groups, reading, self._TARGET, "groups")
        corpus = _groups.training_groups(self._training_corpus(X, reading, y), groups, y)
        return super().fit(corpus, callbacks=callbacks)

    def fit_transform(self, X: Any, y: Any = None, *, groups: Any = None, **fit_params: Any) -> FloatArray:
        """Learn, then return the topic shares of the same documents, found as those of new ones.

        Parameters
        ----------
        X : texts, a data frame, a matrix of counts, a Corpus or anything else that ``fit`` takes
            The documents.
        y : sequence, default=None
            The collections. The result is ``fit(X, y).transform(X)``, as of every transformer of scikit-learn.
        groups : sequence, default=None
            The collections. Each document then has the prior of its collection in the result, too.
        **fit_params
            Other arguments of ``fit``.

        Returns
        -------
        ndarray of shape (n_docs, n_components)
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
        return self._learns(self.concentration), alpha_prior

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

    @classmethod
    def _renamed(cls, params: dict[str, Any]) -> dict[str, Any]:
        found = super()._renamed(params)
        if "collection_prior_gamma" in params and found.get("collection_prior") is None:
            found["collection_prior"] = dict(zip(_GAMMA_PRIOR, params["collection_prior_gamma"], strict=True))
        return found
