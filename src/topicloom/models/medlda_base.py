"""What supervised topic models share: running chains, predictions from all of them, files."""

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from topicloom import storage
from topicloom._types import AnyArray, FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.frames import to_frame
from topicloom.directories import Part, Stored, restart_run
from topicloom.errors import InputError
from topicloom.estimates import ESTIMATORS, Estimator, with_prior
from topicloom.explore import frames
from topicloom.inference.chain import Callback, Chain, Plan, run_chains, start_chain
from topicloom.inference.checkpoints import Belonging
from topicloom.inference.foldin import fold_in
from topicloom.inference.kernel import Kernel, Prior, Schedule, make_prior
from topicloom.inference.medlda import COMPOSITIONS, SAMPLERS, Options, Tasks, medlda_kernel
from topicloom.inference.parallel import resolve_jobs
from topicloom.kernels.product import product
from topicloom.kernels.rng import path_key
from topicloom.manifests import CORPUS, TARGETS
from topicloom.models import _inputs, _published, _stored_checks, _targets
from topicloom.models._estimator import check_is_fitted, in_output_container
from topicloom.models._targets import Kind, Targets
from topicloom.models.stored import StoredModel
from topicloom.progress import progress

_WHOLE_NUMBERS = {  # parameters that are whole numbers, and the least that each may be
    **dict.fromkeys(("n_components", "max_iter", "lag", "n_chains", "n_shards", "n_mh", "n_gibbs"), 1),
    **dict.fromkeys(("trace_every", "checkpoint_every", "predict_lag", "predict_samples", "predict_chains"), 1),
    "predict_burn_in": 0,
}


class SupervisedTopics(StoredModel):
    """A topic model whose topics are to predict something. Subclasses say what, and bring the parameters."""

    n_components: int
    loss: str
    loss_weight: float
    weight_precision: float | None
    doc_topic_prior: Any
    topic_word_prior: Any
    composition: str
    n_mh: int
    n_gibbs: int
    predict_estimator: Estimator
    max_iter: int
    burn_in: int | None
    lag: int
    n_chains: int
    n_shards: int
    trace_every: int
    checkpoint_dir: str | Path | None
    checkpoint_every: int
    random_state: Any
    verbose: int

    _KINDS: ClassVar[tuple[Kind, ...]]
    _targets: Targets | None  # of the training documents
    _kind: str
    _groups: list[list[int]]
    _by_words: FloatArray  # [chains, V, K] expected counts plus β
    _etas: list[FloatArray]  # [K, tasks] of each chain

    # -- what subclasses say -------------------------------------------------------------------------------------

    def _losses(self) -> tuple[str, ...]:
        raise NotImplementedError

    def _read_targets(self, y: Any, corpus: Corpus) -> Targets:
        raise NotImplementedError

    def _task_weights(self, targets: Targets) -> FloatArray:
        return np.ones(targets.target.shape)

    def _task_groups(self, targets: Targets) -> list[list[int]]:
        return [list(range(targets.target.shape[1]))]

    def _directions(self) -> list[tuple[Any, int, float]]:
        """Name, task and sign of what topics may push toward."""
        raise NotImplementedError

    def _task_epsilon(self, targets: Targets) -> float:
        return 0.0

    # -- fitting -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, callbacks: Sequence[Callback] = ()) -> Self:
        """Learn topics and the classifier. Callbacks are given the chain after every sweep; a true answer stops it."""
        _inputs.check_call(self, callbacks)
        seed = _inputs.draw_seed(self.random_state)
        plan = self._plan(seed)
        corpus = self._training_corpus(X)
        targets = self._read_targets(y, corpus)
        prior = self._prior(corpus)
        kernel = self._kernel(targets)
        run = None
        if self.checkpoint_dir is not None:
            folder, beside = self.checkpoint_dir, _targets.targets_part(targets)
            run = storage.start_run(folder, corpus, type(self).__name__, self._plain_params(), seed, beside)
        n_chains = self.n_chains * len(self._task_groups(targets))
        chains = [start_chain(kernel, corpus, prior, seed, index) for index in range(n_chains)]
        self._run(kernel, corpus, targets, chains, plan, callbacks, run)
        return self

    def _plan(self, seed: int) -> Plan:
        """Check every parameter; what is left to check depends on the data."""
        _inputs.check_choice("loss", self.loss, self._losses())
        _inputs.check_choice("sampler", self.sampler, SAMPLERS)
        _inputs.check_choice("composition", self.composition, COMPOSITIONS)
        _inputs.check_choice("estimator", self.estimator, ESTIMATORS)
        _inputs.check_choice("predict_estimator", self.predict_estimator, ESTIMATORS)
        for name, least in _WHOLE_NUMBERS.items():
            _inputs.check_whole(name, getattr(self, name), least)
        for name in ("loss_weight", "weight_precision"):
            if getattr(self, name) is not None or name == "loss_weight":
                _inputs.check_positive(name, getattr(self, name))
        if self.burn_in is not None and _inputs.check_whole("burn_in", self.burn_in, 1) > self.max_iter:
            raise InputError(
                f"burn_in={self.burn_in} leaves no sweep to keep of max_iter={self.max_iter}; make it smaller."
            )
        return Plan(
            seed=seed,
            max_iter=self.max_iter,
            burn_in=self.burn_in,
            lag=self.lag,
            estimator=self.estimator,
            trace_every=self.trace_every,
            checkpoint_every=self.checkpoint_every,
            schedule=Schedule(self.n_shards, resolve_jobs(self.n_jobs) if self.n_shards > 1 else 1, self.n_mh),
        )

    def _prior(self, corpus: Corpus) -> Prior:
        k = self.n_components
        alpha = _inputs.check_prior("doc_topic_prior", self.doc_topic_prior, k, "topics", 6.4 / k)
        beta = _inputs.check_prior("topic_word_prior", self.topic_word_prior, corpus.n_words, "words", 0.01)
        return make_prior(alpha, beta, corpus.n_docs)

    def _precision(self) -> float:
        """ν: as given; else, of the hinge loss, that of weights of precision 1 at a margin of λ/1.6."""
        if self.weight_precision is not None:
            return self.weight_precision
        return (self.loss_weight / 1.6) ** 2 if self.loss == "hinge" else 1.0

    def _kernel(self, targets: Targets) -> Kernel:
        weight = self.loss_weight * self._task_weights(targets)
        tasks = Tasks(
            targets.target, weight, self.loss, self._task_epsilon(targets), self._precision(),
            self._task_groups(targets),
        )  # fmt: skip
        return medlda_kernel(tasks, Options(self.sampler, self.composition, self.n_gibbs, self.n_chains))

    def _run(
        self,
        kernel: Kernel,
        corpus: Corpus,
        targets: Targets,
        chains: list[Chain],
        plan: Plan,
        callbacks: Sequence[Callback] = (),
        run: Stored | None = None,
    ) -> None:
        checkpoint = None if run is None else partial(storage.save_chain, run)
        # Threads go to whole chains, or to the shards of one chain after the other.
        n_jobs = resolve_jobs(self.n_jobs) if self.n_shards == 1 else 1
        started = time.perf_counter()
        with progress(self.verbose > 0, corpus, chains, plan) as watch:
            interrupted = run_chains(
                kernel, corpus, chains, plan, n_jobs=n_jobs, callbacks=callbacks, watch=watch, checkpoint=checkpoint
            )
        self.fit_seconds_ = time.perf_counter() - started
        n_jobs = plan.schedule.n_jobs
        log_joints = np.array([kernel.log_joint(corpus, chain.state, chain.prior, n_jobs) for chain in chains])
        with _published.publishing(self):
            self._learn(corpus, targets, chains, log_joints, plan.seed, interrupted)
        if run is not None and not interrupted:
            self._write(run)
        if interrupted:
            _inputs.warn_interrupted(self.n_iter_, plan.max_iter)
        _published.report_topics(self, corpus, chains[self.best_chain_].prior)

    def _learn(
        self,
        corpus: Corpus,
        targets: Targets,
        chains: list[Chain],
        log_joints: FloatArray,
        seed: int,
        interrupted: bool,
    ) -> None:
        """All that a fitted model has, from its chains."""
        self._targets, self._kind, self._groups = targets, targets.kind, self._task_groups(targets)
        self._publish(corpus, chains, log_joints, seed, interrupted)
        self._by_words = np.stack([self._word_counts_of(chain) for chain in chains])
        self._etas = [
            chain.state.eta if chain.kept is None or chain.kept.eta is None else chain.kept.eta / chain.kept.n_samples  # type: ignore[union-attr]
            for chain in chains
        ]
        self._learn_more(targets)

    def _learn_more(self, targets: Targets) -> None:
        """What a subclass publishes."""

    @classmethod
    def _resume(cls, stored: Stored, changes: dict[str, Any]) -> Self:
        model = cls._from_params(stored)
        model.set_params(**changes, checkpoint_dir=stored.folder)
        plan = model._plan(stored.manifest["seed"])
        corpus = storage.read_corpus(stored)
        _stored_checks.check_training_corpus(stored.path(CORPUS), model, corpus)
        targets = _targets.load_targets(stored, corpus.n_docs, cls._KINDS)
        with _stored_checks.parameters_of(stored):
            prior, kernel = model._prior(corpus), model._kernel(targets)
        groups = model._task_groups(targets)
        chains = [
            storage.load_chain(stored, index, corpus, kernel, model._belonging_to(groups, index))
            if stored.chain_path(index) is not None
            else start_chain(kernel, corpus, prior, plan.seed, index)
            for index in range(model.n_chains * len(groups))
        ]
        _inputs.check_goes_on(model.max_iter, max(chain.sweep for chain in chains), stored.folder, stored.manifest)
        model._run(kernel, corpus, targets, chains, plan, run=restart_run(stored, model._plain_params()))
        return model

    # -- what was learned ----------------------------------------------------------------------------------------

    @property
    def coef_(self) -> FloatArray:
        """Weights [tasks, K] of the topics, the mean over kept samples: of each task in the best chain of its group."""
        check_is_fitted(self, "seed_")
        return np.concatenate([self._etas[self._best_of(group)].T for group in range(len(self._groups))])

    def _best_of(self, group: int) -> int:
        """The chain with the highest joint probability of those that serve a group of tasks."""
        first = group * self.n_chains
        return first + int(np.argmax(self.log_joint_[first : first + self.n_chains]))

    def class_topics(self, n_topics: int = 3, n_words: int = 8, *, frame: str | None = None) -> Any:
        """The topics that push most toward each class, or down and up: class, topic, weight, likeliest words."""
        rows = self.class_topic_rows(n_topics, n_words)
        names = ("class", "topic", "weight", "words")
        return to_frame(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)), frame)

    def class_topic_rows(self, n_topics: int = 3, n_words: int = 8) -> list[tuple[Any, int, float, str]]:
        """The same as a list of tuples."""
        check_is_fitted(self, "seed_")
        _inputs.check_whole("n_topics", n_topics, 1)
        _inputs.check_whole("n_words", n_words, 1)
        group_of = {task: group for group, own in enumerate(self._groups) for task in own}
        rows: list[tuple[Any, int, float, str]] = []
        coef = self.coef_
        for name, task, sign in self._directions():
            by_word = self._by_words[self._best_of(group_of[task])]
            words = frames.top_words((by_word / by_word.sum(axis=0)).T, self.vocabulary_, n_words)
            order = np.argsort(-sign * coef[task], kind="stable")[:n_topics].tolist()
            rows += [(name, k, float(sign * coef[task, k]), " ".join(words[k])) for k in order]
        return rows

    # -- new documents -------------------------------------------------------------------------------------------

    @in_output_container
    def transform(self, X: Any) -> FloatArray:
        """θ [D, K] of documents, with the published chain's topics held fixed.

        A document's answer depends on its words and the model's seed alone: not on its batch, its row or ``n_jobs``.
        A document without a known word gets the prior's mean.
        """
        check_is_fitted(self, "seed_")
        return with_prior(self._fold_chain(self._new_corpus(X), self.best_chain_), self.alpha_)

    def _fold(self, corpus: Corpus) -> FloatArray:
        return self._fold_chain(corpus, self.best_chain_)

    def _fold_chain(self, corpus: Corpus, index: int) -> FloatArray:
        """Expected topic counts [D, K] with one chain's topics held fixed."""
        soft, by_word = self.predict_estimator == "cgs_p", self._by_words[index]
        folded = fold_in(
            corpus, by_word / by_word.sum(axis=0), self.alpha_, burn_in=self.predict_burn_in, lag=self.predict_lag,
            n_samples=self.predict_samples, n_chains=self.predict_chains, seed=int(path_key(self.seed_, index)),
            n_jobs=resolve_jobs(self.n_jobs), hard=not soft, soft=soft,
        )  # fmt: skip
        counts = folded.soft if soft else folded.hard
        assert counts is not None
        return counts

    def _values(self, corpus: Corpus) -> FloatArray:
        """f [D, tasks] = Σ_k z̄_k η_k, the mean over chains; the prior's mean in place of z̄ where there is no word."""
        out = np.zeros((corpus.n_docs, sum(map(len, self._groups))))
        lengths = corpus.doc_lengths[:, None]
        for group, tasks in enumerate(self._groups):
            for index in range(group * self.n_chains, (group + 1) * self.n_chains):
                counts = self._fold_chain(corpus, index)
                share = np.where(lengths > 0, counts / np.maximum(lengths, 1), self.alpha_ / self.alpha_.sum())
                out[:, tasks] += product(share, self._etas[index]) / self.n_chains
        return out

    # -- files ---------------------------------------------------------------------------------------------------

    def _training_targets(self) -> Targets:
        if self._targets is None:
            targets = _targets.load_targets(self._stored_in(), self.corpus_.n_docs, self._KINDS)
            _stored_checks.check_same_targets(self._stored_in().path(TARGETS), self, targets)
            self._targets = targets
        return self._targets

    def _belonging_to(self, groups: list[list[int]], index: int) -> Belonging:
        return Belonging(self.n_components, None, groups[index // self.n_chains])

    def _load_chain(self, index: int) -> Chain:
        targets, of = self._training_targets(), self._belonging_to(self._groups, index)
        with _stored_checks.parameters_of(self._stored_in()):
            kernel = self._kernel(targets)
        return storage.load_chain(self._stored_in(), index, self.corpus_, kernel, of)

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
