"""Latent Dirichlet allocation by Gibbs sampling, as a scikit-learn estimator."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, Unpack

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
from topicloom.engine.threads import threads_for
from topicloom.errors import InputError, warn
from topicloom.lda import memory
from topicloom.lda.gibbs import get_sampler, sampler_names
from topicloom.lda.gibbs.growing_start import with_growing_start
from topicloom.lda.gibbs.merged_start import MOST_TOPICS, topics_of_start, with_merged_start
from topicloom.lda.statement import LearnPriors, PlainTopics

FIRST_PATH = 'doc_topic_ is the mean over paths; estimate(..., paths="first") gives θ of the first one'


class LDA(PlainTopics):
    """Latent Dirichlet allocation by Gibbs sampling.

    Samples from the exact posterior, and is used like ``LatentDirichletAllocation`` of scikit-learn.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics K.
    doc_topic_prior : float or array-like of shape (n_components,), default=None
        Dirichlet parameter α of documents, from 1e-12 to 1e12. None starts at 1/K and is learned, see ``learn_priors``.
    topic_word_prior : float or array-like of shape (n_words,), default=None
        Dirichlet parameter β of topics, within the same bounds. None starts at 1/K and is learned.
    sampler : {"auto", "dense", "sparse", "words", "mh", "partial", "warp"}, default="auto"
        How topics are drawn. All but "warp" are exact. "auto" takes the quickest of "dense", "sparse" and "words" for
        each sweep.
    estimator : {"cgs_p", "standard"}, default="cgs_p"
        How estimates are read off the sampled topics. "cgs_p" gives dense estimates with lower perplexity, at the cost
        of about one sweep. "standard" counts topics.
    max_iter : int, "auto" or Converged, default=500
        Number of sweeps. "auto" continues until several chains agree, ``Converged(...)`` does so with other limits.
    burn_in : int, default=None
        None takes the last sweep as the one sample. Otherwise counts are averaged over sweeps ``burn_in``,
        ``burn_in + thin``, … Topics of one chain may drift, so average only where it has settled.
    thin : int, default=10
        Sweeps from one sample to the next.
    keep_draws : str, list of str, or dict, default=None
        Draws to keep in ``draws_`` at the sweeps that ``burn_in`` and ``thin`` name; ``burn_in`` must be set. "theta",
        "phi", a list of these, or a dict of functions by name. Each function is called as ``function(theta, phi)`` and
        returns a number or an array of one shape. If it has keyword-only parameters ``alpha`` or ``vocabulary``, it is
        given these, too. ``{"theta": "theta"}`` keeps θ itself beside functions.
    n_chains : int, default=1
        Independent chains. The one with the highest joint probability is published, and ``chains_`` has all.
    n_paths : int, default=1
        Paths per chain: assignments of topics to all tokens that share their topic-word counts. The posterior of φ is
        then proportional to P(φ) P(w | φ)^n_paths, sharper about what fits the data best.
    n_shards : int or "auto", default="auto"
        Parts into which documents and words are cut so that threads can share a sweep. An exact sampler stays exact
        with any number of them. The number is part of the model: another one gives another chain. "auto" goes by the
        tokens of the corpus alone: one shard, two from 524,288 tokens on, four from 8,388,608, and so on.
    sampler_options : dict, default=None
        Options of the sampler.

        * ``n_mh`` (2): steps per token of "mh" and "warp".
        * ``start_sweeps`` ("auto"): above 0, chains start with this many sweeps of half as many topics again. The most
          similar topics are then merged until ``n_components`` are left. Fewer chains get stuck with merged topics.
          "auto" does so with a part of the tokens, to which the others are added step by step, if the sampler is
          "auto" and the corpus large enough for it to pay. 0 starts from random topics.
    learn_priors : bool or "symmetric", default=None
        None learns the priors that were left as None, True learns both, False neither. α becomes asymmetric, β stays
        symmetric. "symmetric" is as None, with α one number for all topics.
    seed_words : dict of int to list of str, or list of lists of str, default=None
        Words to be found in a topic, by the number of the topic.
    seed_weight : float, default=0.5
        Prior weight of a seed word in its topic, as a share of the word's count. From 1e-12 to 1e12.
    predict_options : dict, default=None
        How topics of new documents are found.

        * ``method`` ("cvb0"): "cvb0" computes expected counts of topics, "gibbs" draws topics. An option of one method
          chooses that method.
        * ``tol`` (0.03), of "cvb0": share of a document's tokens that the last round may still move.
        * ``max_iter`` (50), of "cvb0": most rounds over a document.
        * ``burn_in`` (20), of "gibbs": sweeps before the first sample.
        * ``thin`` (2), of "gibbs": sweeps from one sample to the next.
        * ``n_samples`` (5), of "gibbs": samples per chain.
        * ``n_chains`` (2), of "gibbs": chains per document.
        * ``estimator``, of "gibbs": as ``estimator`` above, for new documents alone.
    trace_every : int, default=10
        Sweeps between records of the joint probability.
    checkpoint_dir : str or path, default=None
        A new or empty directory for checkpoints, from which ``topicloom.resume`` continues, and for the finished model.
        It may be an address of fsspec, as "s3://bucket/run".
    checkpoint_every : int, default=50
        Sweeps between checkpoints.
    n_jobs : int, default=None
        Number of threads. None is 1, -1 is all cores. They change no result.
    random_state : int, RandomState instance or None, default=None
        Seed. The same seed gives the same model, bit for bit.
    verbose : int, default=0
        1 shows progress on standard error.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_words)
        Expected counts of words in topics, plus β.
    topic_word_ : ndarray of shape (n_components, n_words)
        Probability of each word in each topic: ``components_``, normalised.
    doc_topic_ : ndarray of shape (n_docs, n_components)
        Share of each topic in each training document.
    alpha_ : ndarray of shape (n_components,)
        Prior of documents, as given or learned.
    beta_ : ndarray of shape (n_words,)
        Prior of topics, as given or learned.
    vocabulary_ : tuple of str
        The words.
    topic_names_ : tuple of str or None
        Names of topics, see ``set_topic_names``.
    chains_ : list of Chain
        All chains, with their states.
    best_chain_ : int
        Number of the published chain.
    log_joint_ : ndarray of shape (n_chains,)
        Last joint log probability of each chain.
    trace_ : Trace
        What was recorded along the published chain.
    traces_ : tuple of Trace
        The same, of each chain.
    verdict_ : str or None
        Whether the chains agree, in one line.
    draws_ : dict of str to ndarray of shape (n_chains, n_draws, ...)
        Draws that ``keep_draws`` asked for; θ and φ in single precision.
    corpus_ : Corpus
        The training corpus.
    empty_docs_ : ndarray of bool, of shape (n_docs,)
        Training documents without any token.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of str
        Names of the columns, if the model was fitted on a data frame of counts.
    n_iter_ : int
        Sweeps of the published chain.
    interrupted_ : bool
        Whether the fit was ended by Ctrl-C.
    fit_seconds_ : float
        Wall-clock time of the fit.
    seed_ : int
        The seed that was used.
    published_by_ : {"best", "medoid", "merged"}
        How the published chain was chosen.
    fingerprint_ : str
        A hash of all published numbers.

    See Also
    --------
    VariationalLDA : The same model by deterministic approximations; takes fractional counts.
    CompoundLDA : Documents in collections.
    topicloom.diagnostics.diagnose : Whether chains agree.

    Examples
    --------
    >>> from topicloom import LDA
    >>> texts = ["a boat on the river", "the river and its boats", "a bank lends money", "the money of a bank"] * 5
    >>> model = LDA(2, max_iter=50, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0)
    >>> model = model.fit(texts, stop_words="english")
    >>> sorted(sorted(words) for words in model.top_words(2))
    [['bank', 'money'], ['boat', 'river']]
    >>> model.transform(["a boat and a river"]).shape
    (1, 2)
    """

    _CHECKS: ClassVar[Mapping[str, parameters.Check]] = {
        "sampler": lambda name, value: inputs.check_choice(name, value, sampler_names())
    }
    _OPTIONS: ClassVar[Mapping[str, parameters.Options]] = {
        "predict_options": parameters.predict_options(burn_in=20, thin=2, n_samples=5, n_chains=2),
        "sampler_options": {
            "n_mh": parameters.Option(2, parameters.whole(1)),
            "start_sweeps": parameters.Option("auto", parameters.whole_or_auto(0)),
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
        n_shards: int | Literal["auto"] = "auto",
        sampler_options: parameters.SamplerOptions | None = None,
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
        """Does not exist: a sampler needs all documents at once. The error names what learns from a stream."""
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
            Each is called with the chain after every sweep. If it returns something true, that chain stops.
        **reading
            How ``X`` is read: ``text="review"`` and other columns of a frame; ``stop_words``, ``min_df``, ``missing``
            and other options of ``topicloom.from_texts``. New documents are read alike.

        Returns
        -------
        self : LDA
            The fitted model.

        Raises
        ------
        InputError
            If a parameter or the documents are not what they must be; the message says what to do.

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
            symmetric_alpha=self._learns_symmetric(),
            schedule=self._schedule(),
            n_paths=self.n_paths,
        )

    def _schedule(self) -> Schedule:
        return Schedule(parameters.shards_of(self.n_shards), threads_for(self.n_jobs), self._n_mh())

    def _n_mh(self) -> int:
        return int(parameters.read_options(self, "sampler_options")["n_mh"])

    def _start_sweeps(self) -> int | None:
        """None: the default start of the sampler."""
        value = parameters.read_options(self, "sampler_options")["start_sweeps"]
        return None if value == "auto" else int(value)

    def _check_start(self) -> None:
        """What a start with more topics cannot be combined with."""
        if not self._start_sweeps():
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
            note=lambda: self._needs(corpus),
        )

    def _sampler_for(self, corpus: Corpus) -> Sampler:
        return self._started(get_sampler(self.sampler))

    def _started(self, sampler: Sampler) -> Sampler:
        """The sampler with the start that the options ask for."""
        n_sweeps, schedule = self._start_sweeps(), self._schedule()
        if self.n_chains >= schedule.n_jobs:  # each thread starts a chain of its own
            schedule = schedule._replace(n_jobs=1)
        if n_sweeps is None:
            return with_growing_start(sampler, schedule) if sampler.name == "auto" else sampler
        return with_merged_start(sampler, n_sweeps, schedule)

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
        return str(needed)

    def _draw_bytes(self, corpus: Corpus) -> int:
        """Of all θ and φ that one chain keeps."""
        plan, k = self._plan(0).draws, self.n_components
        return 0 if plan is None else plan.parameter_bytes({"theta": (corpus.n_docs, k), "phi": (k, corpus.n_words)})

    # -- several paths -------------------------------------------------------------------------------------------

    def estimate(self, estimator: Estimator, *, paths: DocTopicPaths = "mean") -> tuple[FloatArray, FloatArray]:
        """Estimates of θ and φ from the last state of the published chain, by either estimator.

        Parameters
        ----------
        estimator : {"cgs_p", "standard"}
            How counts are read off the sampled topics, whatever the parameter ``estimator`` says.
        paths : {"mean", "first"}, default="mean"
            With several paths, θ from the mean of their counts, or from the first path's.

        Returns
        -------
        theta : ndarray of shape (n_docs, n_components)
            Topic shares of the training documents.
        phi : ndarray of shape (n_components, n_words)
            Word probabilities of the topics.

        Examples
        --------
        >>> from topicloom import LDA
        >>> from topicloom.datasets import bars
        >>> model = LDA(4, max_iter=10, random_state=0).fit(bars(side=2, n_docs=30).corpus)
        >>> theta, phi = model.estimate("standard")
        >>> theta.shape, phi.shape
        ((30, 4), (4, 4))
        """
        inputs.check_choice("paths", paths, DOC_TOPIC_PATHS)
        return self._estimate(estimator, paths)

    @classmethod
    def _renamed(cls, params: dict[str, Any]) -> dict[str, Any]:
        if params.get("doc_topic_paths") == "first" and params.get("n_paths") != 1:
            warn(f'this model was fitted with doc_topic_paths="first", which is gone: {FIRST_PATH}.', UserWarning)
        return super()._renamed(params)
