"""Latent Dirichlet allocation by collapsed Gibbs sampling, as a scikit-learn estimator."""

import time
import warnings
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from topicloom import storage
from topicloom._types import AnyArray, FloatArray
from topicloom.corpus.corpus import Corpus, TextOptions, from_matrix
from topicloom.corpus.text import from_texts
from topicloom.errors import InputError, InterruptedFitWarning, StorageError, UnknownWordsWarning
from topicloom.estimates import ESTIMATORS, Counts, Estimator, pseudo_counts, theta, topic_counts, with_prior
from topicloom.evaluation.predictive import completion_perplexity
from topicloom.explore import frames
from topicloom.inference.chain import Callback, Chain, Plan, Trace, run_chains, start_chain
from topicloom.inference.foldin import fold_in
from topicloom.inference.kernel import Kernel, Prior, get_kernel, kernel_names, make_prior
from topicloom.inference.parallel import resolve_jobs
from topicloom.models import _inputs
from topicloom.progress import progress

_MANY_UNKNOWN = 0.2  # share of unknown words in a batch from which a warning is due


class LDA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Latent Dirichlet allocation.

    A drop-in for scikit-learn's ``LatentDirichletAllocation`` that samples from the true posterior. ``X`` is a ``Corpus``, a
    documents × words count matrix (dense, sparse or a data frame) or a list of texts.

    Parameters
    ----------
    n_components : number of topics K.
    doc_topic_prior, topic_word_prior : Dirichlet parameters α (number, or one a topic) and β (number, or one a word).
        None starts from 1/K and is learned (see ``learn_priors``).
    inference : "gibbs".
    sampler : which kernel draws the topics; "auto" chooses.
    estimator : "cgs_p" for dense estimates from the sampled topics (lower perplexity at the cost of about one sweep),
        "standard" for the usual ones.
    max_iter : number of sweeps.
    burn_in, lag : with ``burn_in=None`` the last sweep is the one sample; otherwise counts are averaged over the sweeps
        ``burn_in``, ``burn_in + lag``, … Topics of one chain may drift, so leave a long chain unaveraged unless it has settled.
    n_chains : independent chains; the one with the highest joint probability is published, all are kept in ``chains_``.
    learn_priors : None learns the priors that were left as None, True learns both, False none. α becomes asymmetric, β
        stays symmetric.
    seed_words : {topic: [words]} or a list of lists: words that are to be found in a topic.
    seed_weight : prior weight of a seed word in its topic, as a share of the word's count.
    predict_burn_in, predict_lag, predict_samples, predict_chains : how new documents are sampled.
    trace_every : sweeps between records of the joint probability.
    checkpoint_dir, checkpoint_every : where, and after how many sweeps, to save a run so that ``topicloom.resume`` can go on.
    n_jobs : threads. They change no result.
    random_state : seed.
    verbose : 1 shows progress.

    Attributes
    ----------
    components_ : [K, V] expected counts plus β. ``topic_word_`` is the same, normalised.
    doc_topic_ : [D, K] topic proportions of the training documents.
    alpha_, beta_ : the priors, as given or learned.
    chains_, best_chain_, log_joint_, traces_ : the chains, the number of the one published, the last joint log probability of
        each, and what was recorded along them.
    vocabulary_, empty_docs_, n_iter_, interrupted_, seed_, fingerprint_
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: float | Sequence[float] | AnyArray | None = None,
        topic_word_prior: float | Sequence[float] | AnyArray | None = None,
        inference: Literal["gibbs"] = "gibbs",
        sampler: str = "auto",
        estimator: Estimator = "cgs_p",
        max_iter: int = 500,
        burn_in: int | None = None,
        lag: int = 10,
        n_chains: int = 1,
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

    def fit(self, X: Any, y: Any = None, *, callbacks: Sequence[Callback] = ()) -> Self:
        """Learn topics. Each callback is given the chain after every sweep; a true answer stops it there."""
        seed = _inputs.draw_seed(self.random_state)
        plan = self._plan(seed)
        corpus = self._training_corpus(X)
        prior = self._prior(corpus)
        checkpoint = None
        if self.checkpoint_dir is not None:
            checkpoint = storage.start_run(Path(self.checkpoint_dir), corpus, type(self).__name__, self._plain_params(), seed)
        kernel = self._kernel()
        chains = [start_chain(kernel, corpus, prior, seed, index) for index in range(self.n_chains)]
        self._run(kernel, corpus, chains, plan, callbacks, checkpoint)
        return self

    def _plan(self, seed: int) -> Plan:
        """Check every parameter; what is left to check depends on the data."""
        _inputs.check_whole("n_components", self.n_components, 1)
        _inputs.check_choice("inference", self.inference, ("gibbs",))
        _inputs.check_choice("sampler", self.sampler, ("auto", *kernel_names()))
        _inputs.check_choice("estimator", self.estimator, ESTIMATORS)
        for name, least in (
            ("max_iter", 1), ("lag", 1), ("n_chains", 1), ("trace_every", 1), ("checkpoint_every", 1),
            ("predict_burn_in", 0), ("predict_lag", 1), ("predict_samples", 1), ("predict_chains", 1),
        ):  # fmt: skip
            _inputs.check_whole(name, getattr(self, name), least)
        if self.burn_in is not None and _inputs.check_whole("burn_in", self.burn_in, 1) > self.max_iter:
            raise InputError(f"burn_in={self.burn_in} leaves no sweep to keep of max_iter={self.max_iter}; make it smaller.")
        resolve_jobs(self.n_jobs)
        fixed_beta = np.ndim(self.topic_word_prior if self.topic_word_prior is not None else 0) > 0 or self.seed_words is not None
        if self.learn_priors and fixed_beta:
            raise InputError(
                "learn_priors=True learns one β for all words, but topic_word_prior is a vector or seed_words are given; "
                "leave learn_priors=None to learn α alone."
            )
        return Plan(
            seed=seed,
            max_iter=self.max_iter,
            burn_in=self.burn_in,
            lag=self.lag,
            estimator=self.estimator,
            learn_alpha=self.doc_topic_prior is None if self.learn_priors is None else self.learn_priors,
            learn_beta=not fixed_beta and (self.topic_word_prior is None if self.learn_priors is None else self.learn_priors),
            trace_every=self.trace_every,
            checkpoint_every=self.checkpoint_every,
        )

    def _prior(self, corpus: Corpus) -> Prior:
        k = self.n_components
        alpha = _inputs.check_prior("doc_topic_prior", self.doc_topic_prior, k, "topics", 1 / k)
        beta = _inputs.check_prior("topic_word_prior", self.topic_word_prior, corpus.n_words, "words", 1 / k)
        boosts = _inputs.seed_boosts(self.seed_words, self.seed_weight, corpus, k)
        return make_prior(alpha, beta, corpus.n_docs, boosts)

    def _kernel(self) -> Kernel:
        return get_kernel("dense" if self.sampler == "auto" else self.sampler)

    def _run(
        self, kernel: Kernel, corpus: Corpus, chains: list[Chain], plan: Plan, callbacks: Sequence[Callback], checkpoint: Any
    ) -> None:
        n_jobs = resolve_jobs(self.n_jobs)
        started = time.perf_counter()
        with progress(self.verbose > 0, corpus, chains, plan) as watch:
            interrupted = run_chains(
                kernel, corpus, chains, plan, n_jobs=n_jobs, callbacks=[*watch, *callbacks], checkpoint=checkpoint
            )
        self.fit_seconds_ = time.perf_counter() - started
        self._publish(corpus, chains, plan.seed, interrupted)
        if checkpoint is not None and not interrupted:
            self._write(Path(self.checkpoint_dir))  # type: ignore[arg-type]
        if interrupted:
            warnings.warn(
                f"interrupted after sweep {self.n_iter_} of {plan.max_iter}; the estimates come from the sweeps that were done.",
                InterruptedFitWarning,
                stacklevel=3,
            )

    def _publish(self, corpus: Corpus, chains: list[Chain], seed: int, interrupted: bool) -> None:
        kernel = self._kernel()
        self.log_joint_ = np.array([kernel.log_joint(corpus, chain.state, chain.prior) for chain in chains])
        self.best_chain_ = int(np.argmax(self.log_joint_))
        self._corpus, self._chains, self._folder, self._doc_topic = corpus, chains, None, None
        self.traces_ = tuple(chain.trace for chain in chains)
        chain = chains[self.best_chain_]
        counts = chain.kept or self._final_counts(chain, docs=False)
        assert counts.word is not None
        self._set_arrays(pseudo_counts(counts.word, counts.n_samples, chain.prior), chain.prior.alpha[0], chain.prior.beta)
        self.vocabulary_ = corpus.vocabulary
        self._text_options = corpus.text_options
        self.empty_docs_ = corpus.empty_docs
        self.n_features_in_ = corpus.n_words
        self.n_iter_ = chain.sweep
        self.seed_ = seed
        self.interrupted_ = interrupted

    def _set_arrays(self, by_word: FloatArray, alpha: FloatArray, beta: FloatArray) -> None:
        self._by_word = by_word
        self._phi_by_word = by_word / by_word.sum(axis=0)
        self.alpha_, self.beta_ = alpha, beta

    def _final_counts(self, chain: Chain, *, docs: bool = True, estimator: Estimator | None = None) -> Counts:
        return topic_counts(
            self.corpus_, chain.state, chain.prior, estimator or self.estimator, docs=docs, n_jobs=resolve_jobs(self.n_jobs)
        )

    # -- what was learned ----------------------------------------------------------------------------------------

    @property
    def components_(self) -> FloatArray:
        return self._by_word.T

    @property
    def topic_word_(self) -> FloatArray:
        return self._phi_by_word.T

    @property
    def _n_features_out(self) -> int:
        return self._by_word.shape[1]

    @property
    def doc_topic_(self) -> FloatArray:
        check_is_fitted(self, "seed_")
        if self._doc_topic is None:
            chain = self.chains_[self.best_chain_]
            counts = chain.kept or self._final_counts(chain)
            assert counts.doc is not None
            self._doc_topic = theta(counts.doc, counts.n_samples, self.corpus_, chain.prior)
        return self._doc_topic

    @property
    def corpus_(self) -> Corpus:
        """The training corpus (read on first use from a loaded model's directory)."""
        check_is_fitted(self, "seed_")
        if self._corpus is None:
            if not (self._folder / storage.CORPUS).exists():
                raise StorageError(f"the model in {self._folder} was saved without its corpus, so this is not known.")
            self._corpus = storage.load_corpus(self._folder / storage.CORPUS)
        return self._corpus

    @property
    def chains_(self) -> list[Chain]:
        """All chains, with the topic of every token (read on first use from a loaded model's directory)."""
        check_is_fitted(self, "seed_")
        if self._chains is None:
            corpus = self.corpus_
            self._chains = [storage.load_chain(self._folder, index, corpus) for index in range(len(self.traces_))]
        return self._chains

    @property
    def trace_(self) -> Trace:
        """What was recorded along the published chain."""
        return self.traces_[self.best_chain_]

    @property
    def fingerprint_(self) -> str:
        """A hash of the topics and priors: equal for equal models."""
        check_is_fitted(self, "seed_")
        digest = blake2b(digest_size=16)
        for array in (self._by_word, self.alpha_, self.beta_):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def estimate(self, estimator: Estimator) -> tuple[FloatArray, FloatArray]:
        """(θ [D, K], φ [K, V]) of the training corpus by either estimator, from the published chain's last state."""
        chain = self.chains_[self.best_chain_]
        counts = self._final_counts(chain, estimator=estimator)
        assert counts.doc is not None
        assert counts.word is not None
        by_word = pseudo_counts(counts.word, 1, chain.prior)
        return theta(counts.doc, 1, self.corpus_, chain.prior), (by_word / by_word.sum(axis=0)).T

    # -- new documents -------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> FloatArray:
        """Topic proportions [D, K] of documents, with the topics held fixed.

        A document's answer depends on its words and the model's seed alone: not on its batch, its row or ``n_jobs``. A document
        without a known word gets the prior's mean.
        """
        check_is_fitted(self, "seed_")
        corpus = self._new_corpus(X)
        soft = self.estimator == "cgs_p"
        folded = fold_in(
            corpus, self._phi_by_word, self.alpha_, burn_in=self.predict_burn_in, lag=self.predict_lag,
            n_samples=self.predict_samples, n_chains=self.predict_chains, seed=self.seed_,
            n_jobs=resolve_jobs(self.n_jobs), hard=not soft, soft=soft,
        )  # fmt: skip
        counts = folded.soft if soft else folded.hard
        assert counts is not None
        return with_prior(counts, self.alpha_)

    def perplexity(self, X: Any) -> float:
        """Held-out perplexity by document completion: topics from one half of each document, words of the other scored."""
        check_is_fitted(self, "seed_")
        return completion_perplexity(
            self.topic_word_, self.alpha_, self._new_corpus(X), estimator=self.estimator, burn_in=self.predict_burn_in,
            lag=self.predict_lag, n_samples=self.predict_samples, n_chains=self.predict_chains, seed=self.seed_,
            n_jobs=resolve_jobs(self.n_jobs),
        )  # fmt: skip

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log probability of a held-out word, −log ``perplexity``: higher is better."""
        return -float(np.log(self.perplexity(X)))

    # -- tables --------------------------------------------------------------------------------------------------

    def topics_frame(self, n_words: int = 10, *, frame: str | None = None) -> Any:
        """The likeliest words of each topic: topic, rank, word, probability. ``frame`` is "pandas" or "polars"."""
        check_is_fitted(self, "seed_")
        return frames.topics_frame(self.topic_word_, self.vocabulary_, n_words, frame)

    def doc_topics_frame(self, X: Any = None, *, frame: str | None = None) -> Any:
        """Topic proportions with document ids, of the training documents or of ``X``."""
        check_is_fitted(self, "seed_")
        if X is None:
            return frames.doc_topics_frame(self.corpus_, self.doc_topic_, frame)
        corpus = self._new_corpus(X)
        return frames.doc_topics_frame(corpus, self.transform(corpus), frame)

    def top_docs(self, topic: int, n_docs: int = 10, *, frame: str | None = None) -> Any:
        """Training documents with the largest share of a topic."""
        check_is_fitted(self, "seed_")
        return frames.top_docs(self.corpus_, self.doc_topic_, topic, n_docs, frame)

    def top_words(self, n_words: int = 10) -> list[list[str]]:
        """The likeliest words of each topic."""
        check_is_fitted(self, "seed_")
        return frames.top_words(self.topic_word_, self.vocabulary_, n_words)

    # -- files ---------------------------------------------------------------------------------------------------

    def save(self, path: storage.PathLike, *, corpus: bool = True) -> None:
        """Write the model to a directory. Without the ``corpus`` it holds no training text and cannot be resumed."""
        check_is_fitted(self, "seed_")
        folder = Path(path)
        if folder.exists() and any(folder.iterdir()) and not (folder / storage.MANIFEST).exists():
            raise InputError(f"{folder} is not empty and not a topicloom directory; give another.")
        folder.mkdir(parents=True, exist_ok=True)
        chains = self.chains_ if corpus else []
        if corpus:
            storage.save_corpus(self.corpus_, folder / storage.CORPUS)
        else:
            for old in (folder / storage.CORPUS, *folder.glob("chain-*.safetensors")):
                old.unlink(missing_ok=True)
        for chain in chains:
            storage.save_chain(folder, chain)
        self._write(folder)

    def _write(self, folder: Path) -> None:
        """The finished model, beside whatever corpus and chains the directory has."""
        arrays: dict[str, AnyArray] = {
            "by_word": self._by_word,
            "alpha": self.alpha_,
            "beta": self.beta_,
            "log_joint": self.log_joint_,
            "empty_docs": self.empty_docs_,
            "vocabulary": storage._to_bytes(self.vocabulary_),
        }
        for index, trace in enumerate(self.traces_):
            arrays |= {f"trace_{index}_{name}": np.asarray(values) for name, values in vars(trace).items()}
        info = {
            "best_chain": self.best_chain_,
            "n_iter": self.n_iter_,
            "n_chains": len(self.traces_),
            "interrupted": self.interrupted_,
            "text_options": self._text_options,
        }
        hashes = {storage.MODEL: storage.write_arrays(folder / storage.MODEL, arrays, info)}
        if (folder / storage.CORPUS).exists():
            hashes[storage.CORPUS] = storage.read_digest(folder / storage.CORPUS)
        storage.write_manifest(folder, type(self).__name__, self._plain_params(), self.seed_, "finished", hashes)

    def _plain_params(self) -> dict[str, Any]:
        """Parameters as JSON knows them; the seed is saved on its own."""
        plain = {name: _plain(value) for name, value in self.get_params(deep=False).items()}
        plain["random_state"] = None
        return plain

    @classmethod
    def _from_params(cls, folder: Path, manifest: dict[str, Any]) -> Self:
        params = dict(manifest["params"])
        if isinstance(params.get("seed_words"), dict):
            params["seed_words"] = {int(topic): words for topic, words in params["seed_words"].items()}
        try:
            model = cls(**params)
        except TypeError as error:
            raise StorageError(f"{folder / storage.MANIFEST}: {error}. Upgrade topicloom.") from error
        model.random_state = manifest["seed"]
        return model

    @classmethod
    def _load(cls, folder: Path, manifest: dict[str, Any]) -> Self:
        if manifest["status"] != "finished":
            raise StorageError(f"the run in {folder} has not finished; go on with topicloom.resume({str(folder)!r}).")
        arrays, info = storage.read_hashed(folder, storage.MODEL, manifest)
        model = cls._from_params(folder, manifest)
        model._set_arrays(arrays["by_word"], arrays["alpha"], arrays["beta"])
        model.log_joint_, model.empty_docs_ = arrays["log_joint"], arrays["empty_docs"]
        model.traces_ = tuple(
            Trace(**{name: arrays[f"trace_{index}_{name}"].tolist() for name in vars(Trace())})
            for index in range(info["n_chains"])
        )
        model.vocabulary_ = tuple(storage._from_bytes(arrays["vocabulary"]))
        options = info["text_options"]
        model._text_options = None if options is None else TextOptions(*options)
        model.n_features_in_ = len(model.vocabulary_)
        model.best_chain_, model.n_iter_, model.interrupted_ = info["best_chain"], info["n_iter"], info["interrupted"]
        model.seed_ = manifest["seed"]
        model._folder, model._corpus, model._chains, model._doc_topic = folder, None, None, None
        return model

    @classmethod
    def _resume(cls, folder: Path, manifest: dict[str, Any], changes: dict[str, Any]) -> Self:
        model = cls._from_params(folder, manifest)
        model.set_params(**changes, checkpoint_dir=folder)
        plan = model._plan(manifest["seed"])
        storage.read_hashed(folder, storage.CORPUS, manifest)
        corpus = storage.load_corpus(folder / storage.CORPUS)
        kernel = model._kernel()
        chains = [
            storage.load_chain(folder, index, corpus)
            if storage.chain_path(folder, index).exists()
            else start_chain(kernel, corpus, model._prior(corpus), plan.seed, index)
            for index in range(model.n_chains)
        ]
        storage.write_manifest(
            folder, cls.__name__, model._plain_params(), plan.seed, "running", {storage.CORPUS: manifest["hashes"][storage.CORPUS]}
        )
        model._run(kernel, corpus, chains, plan, (), lambda chain: storage.save_chain(folder, chain))
        return model

    # -- input ---------------------------------------------------------------------------------------------------

    def _training_corpus(self, X: Any) -> Corpus:
        if isinstance(X, Corpus):
            corpus = X
        elif _are_texts(X):
            corpus = from_texts(X)
        else:
            matrix = validate_data(self, X, accept_sparse="csr", dtype="numeric", ensure_non_negative=True)
            names = getattr(self, "feature_names_in_", None)
            corpus = from_matrix(matrix, None if names is None else [str(name) for name in names])
        _inputs.check_whole_tokens(corpus)
        return corpus

    def _new_corpus(self, X: Any) -> Corpus:
        if isinstance(X, Corpus):
            corpus = X.with_vocabulary(self.vocabulary_)
        elif _are_texts(X):
            if self._text_options is None:
                raise InputError(
                    "this model was not fitted on texts with the default tokenizer; give a Corpus made with your own: "
                    "topicloom.from_texts(texts, tokenizer=..., vocabulary=model.vocabulary_)."
                )
            corpus = from_texts(X, **self._text_options._asdict(), vocabulary=self.vocabulary_)
        else:
            matrix = validate_data(self, X, accept_sparse="csr", dtype="numeric", ensure_non_negative=True, reset=False)
            corpus = from_matrix(matrix, self.vocabulary_)
        if corpus.weights is not None:
            _inputs.check_whole_tokens(corpus)
        _report_unknown(corpus)
        return corpus

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _are_texts(X: Any) -> bool:
    return isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(x, str) for x in X)


def _report_unknown(corpus: Corpus) -> None:
    if corpus.unknown is None or not corpus.unknown.any():
        return
    unknown = int(corpus.unknown.sum())
    share = unknown / (unknown + corpus.n_tokens)
    if share >= _MANY_UNKNOWN:
        warnings.warn(
            f"{share:.0%} of the words in {int(np.count_nonzero(corpus.unknown))} documents are not in the model's vocabulary "
            "and are left out; Corpus.unknown has the number for each document.",
            UnknownWordsWarning,
            stacklevel=4,
        )


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else None
