"""Latent Dirichlet allocation, as a scikit-learn estimator."""

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np

from topicloom import memory, storage
from topicloom._types import AnyArray
from topicloom.corpus.corpus import Corpus
from topicloom.directories import Stored, restart_run
from topicloom.errors import InputError
from topicloom.estimates import ESTIMATORS, Estimator
from topicloom.inference.chain import Callback, Chain, Plan, run_chains, start_chain
from topicloom.inference.checkpoints import Belonging
from topicloom.inference.kernel import Kernel, Prior, Schedule, get_kernel, kernel_names, make_prior
from topicloom.inference.mixtures import Mixtures
from topicloom.inference.parallel import resolve_jobs
from topicloom.inference.paths import DOC_TOPIC_PATHS, DocTopicPaths, repeated, repeated_prior
from topicloom.inference.variational_run import ALL_MODES
from topicloom.manifests import CORPUS
from topicloom.models import _inputs, _published
from topicloom.models._stored_checks import check_training_corpus, parameters_of
from topicloom.models.variational import VariationalMethods, is_variational
from topicloom.progress import announce, progress

_WHOLE_NUMBERS = {  # parameters that are whole numbers, and the least that each may be
    **dict.fromkeys(("max_iter", "lag", "n_chains", "n_paths", "n_shards", "n_mh"), 1),
    **dict.fromkeys(("trace_every", "checkpoint_every"), 1),
    **dict.fromkeys(("predict_lag", "predict_samples", "predict_chains"), 1),
    "predict_burn_in": 0,
}


class LDA(VariationalMethods):
    """Latent Dirichlet allocation.

    A drop-in for scikit-learn's ``LatentDirichletAllocation`` that samples from the true posterior, or approximates it
    in one of six ways. ``X`` is a
    ``Corpus``, a documents × words count matrix (dense, sparse or a data frame) or a list of texts.

    Parameters
    ----------
    n_components : number of topics K.
    doc_topic_prior, topic_word_prior : Dirichlet parameters α (number, or one a topic) and β (number, or one a word),
        from 1e-12 to 1e12. None starts from 1/K and is learned (see ``learn_priors``).
    inference : "gibbs" draws topics. The others are deterministic approximations that also take fractional counts:
        "cvb0", "cvb" (collapsed, with means alone or with variances), "cvb_exact" (a reference for small corpora),
        "vb", and, from minibatches in memory for words × topics alone, "scvb0" and "svb".
    sampler : which kernel draws the topics; "auto" chooses.
    estimator : "cgs_p" for dense estimates from the sampled topics (lower perplexity at the cost of about one sweep),
        "standard" for the usual ones.
    max_iter : number of sweeps; of iterations, at most, if ``inference`` is not "gibbs".
    tol : share of tokens that an iteration may move between topics and still count as converged.
    batch_size, learning_offset, learning_decay : documents of a minibatch, and its step (offset + t)^(−decay), of
        "scvb0" and "svb". total_samples : number of documents in all, for ``partial_fit``.
    max_doc_update_iter, mean_change_tol : rounds for a document in an iteration (new documents may have ten times as
        many), and the change a topic at which it is done.
    burn_in, lag : with ``burn_in=None`` the last sweep is the one sample; otherwise counts are averaged over the sweeps
        ``burn_in``, ``burn_in + lag``, … Topics of one chain may drift, so average only
        over a stretch in which it has settled.
    n_chains : independent chains; the one with the highest joint probability is published, all are kept in ``chains_``.
    n_paths : paths of a chain: assignments of topics to all tokens that share their topic-word counts, so that φ has a
        posterior proportional to P(φ) P(w | φ)^n_paths, sharper about what fits the data best.
    doc_topic_paths : θ of training documents from the "mean" over paths, or from the "first".
    n_shards : parts into which documents and words are cut so that threads can share a sweep. One part is the exact
        sampler, on one thread; more are an approximation in the topic totals alone, and let ``n_jobs`` threads work.
    n_mh : steps a token of the sampler "mh".
    learn_priors : None learns the priors that were left as None, True learns both, False none. α becomes asymmetric, β
        stays symmetric.
    seed_words : {topic: [words]} or a list of lists: words that are to be found in a topic.
    seed_weight : prior weight of a seed word in its topic, as a share of the word's count.
    predict_burn_in, predict_lag, predict_samples, predict_chains : how new documents are sampled.
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
    vocabulary_, empty_docs_, n_iter_, interrupted_, seed_, fingerprint_
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: float | Sequence[float] | AnyArray | None = None,
        topic_word_prior: float | Sequence[float] | AnyArray | None = None,
        inference: Literal["gibbs", "cvb0", "cvb", "cvb_exact", "vb", "scvb0", "svb"] = "gibbs",
        sampler: str = "auto",
        estimator: Estimator = "cgs_p",
        max_iter: int = 500,
        burn_in: int | None = None,
        lag: int = 10,
        n_chains: int = 1,
        n_paths: int = 1,
        doc_topic_paths: DocTopicPaths = "mean",
        n_shards: int = 1,
        n_mh: int = 2,
        tol: float = 1e-3,
        batch_size: int = 128,
        learning_offset: float = 10.0,
        learning_decay: float = 0.7,
        total_samples: float = 1e6,
        max_doc_update_iter: int = 10,
        mean_change_tol: float = 1e-3,
        learn_priors: bool | None = None,
        seed_words: _inputs.SeedWords | None = None,
        seed_weight: float = 0.5,
        predict_burn_in: int = 20,
        predict_lag: int = 2,
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
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.inference = inference
        self.sampler = sampler
        self.estimator = estimator
        self.max_iter = max_iter
        self.burn_in = burn_in
        self.lag = lag
        self.n_chains = n_chains
        self.n_paths = n_paths
        self.doc_topic_paths = doc_topic_paths
        self.n_shards = n_shards
        self.n_mh = n_mh
        self.tol = tol
        self.batch_size = batch_size
        self.learning_offset = learning_offset
        self.learning_decay = learning_decay
        self.total_samples = total_samples
        self.max_doc_update_iter = max_doc_update_iter
        self.mean_change_tol = mean_change_tol
        self.learn_priors = learn_priors
        self.seed_words = seed_words
        self.seed_weight = seed_weight
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

    _INFERENCES: ClassVar[tuple[str, ...]] = ("gibbs", *ALL_MODES)

    def fit(self, X: Any, y: Any = None, *, callbacks: Sequence[Callback] = ()) -> Self:
        """Learn topics. Each callback is given the chain after every sweep; a true answer stops it there."""
        _inputs.check_call(self, callbacks)
        if is_variational(self):
            return self._fit_variational(X, callbacks)
        seed = _inputs.draw_seed(self.random_state)
        plan = self._plan(seed)
        corpus = self._training_corpus(X)
        prior = repeated_prior(self._prior(corpus), self.n_paths)
        run = None
        if self.checkpoint_dir is not None:
            run = storage.start_run(self.checkpoint_dir, corpus, type(self).__name__, self._plain_params(), seed)
        kernel = self._kernel()
        if self.verbose > 0:
            averaged = self.burn_in is not None
            plan_of_memory = memory.estimate(
                corpus, self.n_components, self.sampler, self.n_chains,
                n_mh=self.n_mh, averaged=averaged, n_paths=self.n_paths,
            )  # fmt: skip
            announce(str(plan_of_memory))
            if plan.schedule.n_jobs > self.n_shards * self.n_chains == 1:
                announce(
                    f"threads: {plan.schedule.n_jobs} for estimates, one for sweeps; with n_shards (--shards) above 1 "
                    "they share sweeps, too (docs/samplers.md says what that approximates)."
                )
        sampled = repeated(corpus, self.n_paths)
        chains = [
            start_chain(kernel, sampled, prior, seed, index, self._start_mixtures(corpus))
            for index in range(self.n_chains)
        ]
        self._run(kernel, corpus, chains, plan, callbacks, run)
        return self

    def _plan(self, seed: int) -> Plan:
        """Check every parameter; what is left to check depends on the data."""
        _inputs.check_whole("n_components", self.n_components, 1)
        _inputs.check_choice("inference", self.inference, self._INFERENCES)
        _inputs.check_choice("sampler", self.sampler, kernel_names())
        _inputs.check_choice("estimator", self.estimator, ESTIMATORS)
        _inputs.check_choice("doc_topic_paths", self.doc_topic_paths, DOC_TOPIC_PATHS)
        for name, least in _WHOLE_NUMBERS.items():
            _inputs.check_whole(name, getattr(self, name), least)
        if self.burn_in is not None and _inputs.check_whole("burn_in", self.burn_in, 1) > self.max_iter:
            raise InputError(
                f"burn_in={self.burn_in} leaves no sweep to keep of max_iter={self.max_iter}; make it smaller."
            )
        resolve_jobs(self.n_jobs)
        fixed_beta = _inputs.is_vector("topic_word_prior", self.topic_word_prior) or self.seed_words is not None
        if self.learn_priors and fixed_beta:
            raise InputError(
                "learn_priors=True learns one β for all words, but topic_word_prior is a vector or seed_words are "
                "given; leave learn_priors=None to learn α alone."
            )
        return Plan(
            seed=seed,
            max_iter=self.max_iter,
            burn_in=self.burn_in,
            lag=self.lag,
            estimator=self.estimator,
            learn_alpha=self._learns_alpha(),
            learn_beta=not fixed_beta
            and (self.topic_word_prior is None if self.learn_priors is None else self.learn_priors),
            trace_every=self.trace_every,
            checkpoint_every=self.checkpoint_every,
            schedule=Schedule(self.n_shards, resolve_jobs(self.n_jobs), self.n_mh),
            n_paths=self.n_paths,
        )

    def _learns_alpha(self) -> bool:
        return self.doc_topic_prior is None if self.learn_priors is None else self.learn_priors

    def _belonging(self, corpus: Corpus) -> Belonging:
        return Belonging(self.n_components)

    def _start_mixtures(self, corpus: Corpus) -> Mixtures | None:
        """Mixtures of collections before the first sweep, of models that have them."""
        return None

    def _prior(self, corpus: Corpus) -> Prior:
        k = self.n_components
        alpha = _inputs.check_prior("doc_topic_prior", self.doc_topic_prior, k, "topics", 1 / k)
        beta = _inputs.check_prior("topic_word_prior", self.topic_word_prior, corpus.n_words, "words", 1 / k)
        boosts = _inputs.seed_boosts(self.seed_words, self.seed_weight, corpus, k)
        return make_prior(alpha, beta, corpus.n_docs, boosts)

    def _kernel(self) -> Kernel:
        return get_kernel(self.sampler)

    def _run(
        self,
        kernel: Kernel,
        corpus: Corpus,
        chains: list[Chain],
        plan: Plan,
        callbacks: Sequence[Callback] = (),
        run: Stored | None = None,
    ) -> None:
        checkpoint = None if run is None else partial(storage.save_chain, run)
        # Threads go to whole chains, or to the shards of one chain after the other.
        n_jobs = resolve_jobs(self.n_jobs) if self.n_shards == 1 else 1
        sampled = repeated(corpus, self.n_paths)
        started = time.perf_counter()
        with progress(self.verbose > 0, corpus, chains, plan) as watch:
            interrupted = run_chains(
                kernel,
                sampled,
                chains,
                plan,
                n_jobs=n_jobs,
                callbacks=callbacks,
                watch=watch,
                checkpoint=checkpoint,
            )
        self.fit_seconds_ = time.perf_counter() - started
        of_chains = [kernel.log_joint(sampled, each.state, each.prior, plan.schedule.n_jobs) for each in chains]
        log_joints = np.array(of_chains) / self.n_paths
        with _published.publishing(self):
            self._publish(corpus, chains, log_joints, plan.seed, interrupted)
        if run is not None and not interrupted:
            self._write(run)
        if interrupted:
            _inputs.warn_interrupted(self.n_iter_, plan.max_iter)
        learns_alpha = plan.learn_alpha or (plan.mixing is not None and plan.mixing.learn_gamma)
        self._report_topics(corpus, chains[self.best_chain_].prior, learns_alpha, plan.learn_beta)

    @classmethod
    def _resume(cls, stored: Stored, changes: dict[str, Any]) -> Self:
        model = cls._from_params(stored)
        if is_variational(model):
            return cls._resume_variational(stored, changes)
        model.set_params(**changes, checkpoint_dir=stored.folder)
        plan = model._plan(stored.manifest["seed"])
        corpus = storage.read_corpus(stored)
        check_training_corpus(stored.path(CORPUS), model, corpus)
        kernel = model._kernel()
        sampled = repeated(corpus, model.n_paths)
        with parameters_of(stored):
            chains = [
                storage.load_chain(stored, index, sampled, kernel, model._belonging(corpus))
                if stored.chain_path(index) is not None
                else start_chain(
                    kernel,
                    sampled,
                    repeated_prior(model._prior(corpus), model.n_paths),
                    plan.seed,
                    index,
                    model._start_mixtures(corpus),
                )
                for index in range(model.n_chains)
            ]
        _inputs.check_goes_on(model.max_iter, max(chain.sweep for chain in chains), stored.folder, stored.manifest)
        model._run(kernel, corpus, chains, plan, run=restart_run(stored, model._plain_params()))
        return model
