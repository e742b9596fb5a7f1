"""Latent Dirichlet allocation by Gibbs sampling, as a scikit-learn estimator."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, Unpack

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.inputs import Reading
from topicloom.engine import draws
from topicloom.engine.estimates import Estimator
from topicloom.engine.estimator import inputs, parameters
from topicloom.engine.estimator.fitted import Problem
from topicloom.engine.multipath import DOC_TOPIC_PATHS, DocTopicPaths, repeated, repeated_prior
from topicloom.engine.run import Callback, Plan
from topicloom.engine.sampler import Sampler, Schedule
from topicloom.engine.stopping import MaxIter
from topicloom.engine.threads import resolve_jobs
from topicloom.errors import InputError, warn
from topicloom.lda import memory
from topicloom.lda.gibbs import get_sampler, sampler_names
from topicloom.lda.gibbs.merged_start import MOST_TOPICS, topics_of_start, with_merged_start
from topicloom.lda.statement import PlainTopics

FIRST_PATH = 'doc_topic_ is the mean over paths; estimate(..., paths="first") gives θ of the first one'


class LDA(PlainTopics):
    """Latent Dirichlet allocation by Gibbs sampling.

    Used as scikit-learn's ``LatentDirichletAllocation`` is, and samples from the true posterior. ``X`` is a
    ``Corpus``, a documents × words count matrix (dense, sparse or a data frame), texts, or a data frame with its column
    of texts (``fit(frame, text="review")``); docs/corpus.md has all kinds.
    ``VariationalLDA`` has the deterministic approximations.

    Parameters
    ----------
    n_components : number of topics K.
    doc_topic_prior, topic_word_prior : Dirichlet parameters α (number, or one per topic) and β (number, or one per
        word), from 1e-12 to 1e12. None starts from 1/K and is learned (see ``learn_priors``).
    sampler : which kernel draws the topics; "auto" chooses.
    estimator : "cgs_p" for dense estimates from the sampled topics (lower perplexity at the cost of about one sweep),
        "standard" for the usual ones.
    max_iter : number of sweeps, "auto" (until several chains agree) or a ``Converged`` with other limits.
    burn_in, thin : with ``burn_in=None`` the last sweep is the one sample; otherwise counts are averaged over sweeps
        ``burn_in``, ``burn_in + thin``, … Topics of one chain may drift, so average only
        over a stretch in which it has settled.
    keep_draws : which draws to keep at sweeps ``burn_in``, ``burn_in + thin``, …, which must be set. "theta", "phi", a
        list of these, or a dict of functions by name, each called as ``function(theta, phi)`` to give a number or an
        array of one shape. A function that names ``alpha`` or ``vocabulary`` as keyword-only parameters is given these,
        too. "theta" in such a dict stands for θ itself: ``{"theta": "theta"}``. They are in ``draws_``.
    n_chains : independent chains; the one with the highest joint probability is published, all are kept in ``chains_``.
    n_paths : paths of a chain: assignments of topics to all tokens that share their topic-word counts, so that φ has a
        posterior proportional to P(φ) P(w | φ)^n_paths, sharper about what fits the data best.
    n_shards : parts into which documents and words are cut so that threads can share a sweep. One part is the exact
        sampler, on one thread; more are an approximation in the topic totals alone, and let ``n_jobs`` threads work.
    sampler_options : dict of options of the sampler. ``n_mh`` (2): steps per token of "mh" and "warp".
        ``start_sweeps`` (0): if above 0, chains start with so many sweeps of half as many topics again, the most
        similar of which are then merged until ``n_components`` are left. Fewer chains get stuck with merged topics.
    learn_priors : None learns the priors that were left as None, True learns both, False none. α becomes asymmetric, β
        stays symmetric.
    seed_words : {topic: [words]} or a list of lists: words that are to be found in a topic.
    seed_weight : prior weight of a seed word in its topic, as a share of the word's count.
    predict_options : dict that says how topics of new documents are found. ``method`` ("cvb0"): "cvb0" computes the
        expected counts of topics, "gibbs" draws topics. Of "cvb0": ``tol`` (0.03), the share of a document's tokens
        that the last round may still move, and ``max_iter`` (50), rounds at most. Of "gibbs": ``burn_in`` (20), sweeps
        before the first sample; ``thin`` (2), sweeps from one sample to the next; ``n_samples`` (5), samples of a
        chain; ``n_chains`` (2), chains per document; ``estimator`` (as ``estimator`` above), how counts are read off
        the samples. An option of one method chooses that method.
    trace_every : sweeps between records of the joint probability.
    checkpoint_dir, checkpoint_every : where, and after how many sweeps, to save a run for ``topicloom.resume``.
    n_jobs : threads. They change no result.
    random_state : seed.
    verbose : 1 shows progress.

    Attributes
    ----------
    components_ : [K, V] expected counts plus β. ``topic_word_`` is the same, normalised.
    doc_topic_ : [D, K] topic proportions of the training documents.
    alpha_, beta_ : the priors, as given or learned.
    chains_, best_chain_, log_joint_, traces_ : the chains, the number of the one published, the last joint log
        probability of each, and what was recorded along them.
    draws_ : draws [chains, draws, …] by name, as ``keep_draws`` asked for; θ and φ in single precision.
    vocabulary_, empty_docs_, n_iter_, interrupted_, seed_, fingerprint_
    """

    _CHECKS: ClassVar[Mapping[str, parameters.Check]] = {
        "sampler": lambda name, value: inputs.check_choice(name, value, sampler_names())
    }
    _OPTIONS: ClassVar[Mapping[str, parameters.Options]] = {
        "predict_options": parameters.predict_options(burn_in=20, thin=2, n_samples=5, n_chains=2),
        "sampler_options": {
            "n_mh": parameters.Option(2, parameters.whole(1)),
            "start_sweeps": parameters.Option(0, parameters.whole(0)),
        },
    }
    _GONE: ClassVar[Mapping[str, str]] = {
        "inference": (
            'LDA always samples; leave it out, or use VariationalLDA with method="cvb0", "cvb", "cvb_exact", "vb", '
            '"scvb0" or "svb"'
        ),
        "doc_topic_paths": FIRST_PATH,
        **dict.fromkeys(
            (
                "tol", "batch_size", "learning_offset", "learning_decay", "total_samples", "max_doc_update_iter",
                "mean_change_tol",
            ),
            "LDA samples; leave it out, or use VariationalLDA, which has it",
        ),
    }  # fmt: skip

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: float | Sequence[float] | AnyArray | None = None,
        topic_word_prior: float | Sequence[float] | AnyArray | None = None,
        sampler: str = "auto",
        estimator: Estimator = "cgs_p",
        max_iter: MaxIter = 500,
        burn_in: int | None = None,
        thin: int = 10,
        keep_draws: draws.KeepDraws | None = None,
        n_chains: int = 1,
        n_paths: int = 1,
        n_shards: int = 1,
        sampler_options: parameters.SamplerOptions | None = None,
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
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
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

    @property
    def partial_fit(self) -> Any:
        """Not there: a sampler needs all documents at once. The error names what learns from a stream."""
        raise AttributeError(
            f"{type(self).__name__} has no method 'partial_fit', since it needs all documents at once; use "
            'VariationalLDA with method="scvb0" or method="svb".'
        )

    def fit(self, X: Any, y: Any = None, *, callbacks: Sequence[Callback] = (), **reading: Unpack[Reading]) -> Self:
        """Learn topics.

        Parameters
        ----------
        X : texts, lists of words, spaCy Docs, bags of words, a data frame, AnnData, a matrix of counts or a Corpus
            The documents, as ``topicloom.as_corpus`` takes them.
        y : None
            Not used.
        callbacks : sequence of callables, default=()
            Each is given the chain after every sweep; a true answer stops it there.
        **reading
            How ``X`` is read: ``text="review"`` and other columns of a frame; ``stop_words``, ``min_df``, ``missing``
            and other options of texts (docs/corpus.md). New documents are read alike.

        Returns
        -------
        self

        Examples
        --------
        >>> import pandas as pd
        >>> from topicloom import LDA
        >>> frame = pd.DataFrame({"review": ["good strong tea", "weak tea", "good coffee"], "stars": [5, 2, 4]})
        >>> model = LDA(2, max_iter=20, random_state=0).fit(frame, text="review", min_df=1)
        >>> model.transform(frame).shape
        (3, 2)
        """
        inputs.check_callbacks(callbacks)
        seed = inputs.draw_seed(self.random_state)
        self._plan(seed)  # parameters first: they are quicker to check than data
        return self._fit(self._problem(self._training_corpus(X, reading), seed), callbacks)

    def _plan(self, seed: int) -> Plan:
        parameters.check_parameters(self)
        self._check_start()
        learn_alpha, learn_beta = self._learned_priors()
        return self._sampling_plan(
            seed,
            learn_alpha=learn_alpha,
            learn_beta=learn_beta,
            schedule=Schedule(self.n_shards, resolve_jobs(self.n_jobs), self._n_mh()),
            n_paths=self.n_paths,
        )

    def _n_mh(self) -> int:
        return int(parameters.read_options(self, "sampler_options")["n_mh"])

    def _start_sweeps(self) -> int:
        return int(parameters.read_options(self, "sampler_options")["start_sweeps"])

    def _check_start(self) -> None:
        """What a start with more topics cannot be combined with."""
        if self._start_sweeps() == 0:
            return
        why = ""
        if self.seed_words is not None:
            why = "topics that seed words name would be merged; leave out seed_words"
        elif self.n_components > MOST_TOPICS:
            why = f"it compares all pairs of topics; n_components may be at most {MOST_TOPICS:,}"
        if why:
            raise InputError(f"sampler_options['start_sweeps']={self._start_sweeps()}: {why}, or leave it at 0.")

    def _problem(self, corpus: Corpus, seed: int) -> Problem:
        return Problem(
            corpus=corpus,
            sampled=repeated(corpus, self.n_paths),
            sampler=self._sampler_for(corpus),
            prior=lambda: repeated_prior(self._prior(corpus), self.n_paths),
            plan=self._plan(seed),
            n_chains=self.n_chains,
            sizes={"K": self.n_components},
            threads_by_chain=self.n_shards == 1,  # or they go to the shards of one chain after the other
            note=lambda: self._needs(corpus),
        )

    def _sampler_for(self, corpus: Corpus) -> Sampler:
        return self._started(get_sampler(self.sampler))

    def _started(self, sampler: Sampler) -> Sampler:
        """The sampler with the start that the options ask for."""
        return with_merged_start(sampler, self._start_sweeps())

    def _chain_sampler(self) -> Sampler:
        return self._sampler_for(self.corpus_)

    def _most_topics(self) -> int:
        return topics_of_start(self.n_components) if self._start_sweeps() else self.n_components

    def _needs(self, corpus: Corpus) -> str:
        needed = memory.estimate(
            corpus, self._most_topics(), self.sampler, self.n_chains,
            n_mh=self._n_mh(), averaged=self.burn_in is not None, n_paths=self.n_paths,
            draws=self._draw_bytes(corpus),
        )  # fmt: skip
        n_jobs = resolve_jobs(self.n_jobs)
        if n_jobs > self.n_shards * self.n_chains == 1:
            return (
                f"{needed}\nthreads: {n_jobs} for estimates, one for sweeps; with n_shards (--shards) above 1 they "
                "share sweeps, too (docs/performance/samplers.md says what that approximates)."
            )
        return str(needed)

    def _draw_bytes(self, corpus: Corpus) -> int:
        """Of all θ and φ that one chain keeps."""
        plan, k = self._plan(0).draws, self.n_components
        return 0 if plan is None else plan.parameter_bytes({"theta": (corpus.n_docs, k), "phi": (k, corpus.n_words)})

    # -- several paths -------------------------------------------------------------------------------------------

    def estimate(self, estimator: Estimator, *, paths: DocTopicPaths = "mean") -> tuple[FloatArray, FloatArray]:
        """(θ [D, K], φ [K, V]) of the training corpus by either estimator, from the published chain's last state.

        With several paths θ comes from the "mean" of their counts, or from the "first" path's.
        """
        inputs.check_choice("paths", paths, DOC_TOPIC_PATHS)
        return self._estimate(estimator, paths)

    @classmethod
    def _renamed(cls, params: dict[str, Any]) -> dict[str, Any]:
        if params.get("doc_topic_paths") == "first" and params.get("n_paths") != 1:
            warn(f'this model was fitted with doc_topic_paths="first", which is gone: {FIRST_PATH}.', UserWarning)
        return super()._renamed(params)
