"""What every topic model shares once it is fitted: its arrays, new documents, tables."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from topicloom import storage
from topicloom._types import BoolArray, FloatArray, Int32Array
from topicloom.corpus.corpus import Corpus, TextOptions, from_matrix
from topicloom.corpus.text import from_texts
from topicloom.directories import Stored
from topicloom.errors import InputError, StorageError, UnknownWordsWarning, counted, warn
from topicloom.estimates import Counts, Estimator, pseudo_counts, theta, topic_counts, with_prior
from topicloom.explore import frames
from topicloom.inference.chain import Chain, Trace
from topicloom.inference.checkpoints import Belonging
from topicloom.inference.foldin import fold_in
from topicloom.inference.kernel import get_kernel
from topicloom.inference.parallel import resolve_jobs
from topicloom.inference.paths import DocTopicPaths, join_documents, repeated
from topicloom.manifests import CORPUS
from topicloom.models import _inputs, _stored_checks
from topicloom.models._estimator import Transformer, check_is_fitted, checked_matrix, in_output_container

_MANY_UNKNOWN = 0.2  # share of unknown words in a batch from which a warning is due


class TopicModel(Transformer):
    """A fitted topic model. Subclasses bring the parameters and ``fit``, which ends in ``_publish``."""

    estimator: Estimator
    predict_burn_in: int
    predict_lag: int
    predict_samples: int
    predict_chains: int
    n_jobs: int | None
    random_state: Any
    sampler: str
    n_paths: int = 1
    doc_topic_paths: DocTopicPaths = "mean"

    alpha_: FloatArray
    beta_: FloatArray
    best_chain_: int
    empty_docs_: BoolArray
    interrupted_: bool
    log_joint_: FloatArray
    n_features_in_: int
    n_iter_: int
    seed_: int
    traces_: tuple[Trace, ...]
    vocabulary_: tuple[str, ...]
    _by_word: FloatArray  # [V, K] expected counts plus β
    _phi_by_word: FloatArray  # [V, K] the same, normalised
    _text_options: TextOptions | None
    _quiet: bool = False  # about its topics: another model made it for itself
    _reading: Mapping[str, Any] | None = None  # how the file of the fit was read, where a command read it
    _corpus: Corpus | None
    _chains: list[Chain] | None
    _stored: Stored | None  # where a loaded model finds its corpus and chains
    _doc_topic: FloatArray | None

    def _publish(
        self, corpus: Corpus, chains: list[Chain], log_joints: FloatArray, seed: int, interrupted: bool
    ) -> None:
        """Set the attributes of a fitted model from its chains."""
        self._corpus, self._chains, self._stored, self._doc_topic = corpus, chains, None, None
        self.log_joint_ = log_joints
        self.best_chain_ = int(np.argmax(log_joints))
        self.traces_ = tuple(chain.trace for chain in chains)
        self.vocabulary_ = corpus.vocabulary
        self.empty_docs_ = corpus.empty_docs
        self.n_features_in_ = corpus.n_words
        self.interrupted_ = interrupted
        self.seed_ = seed
        self._text_options, self._reading = corpus.text_options, corpus.reading
        chain = chains[self.best_chain_]
        self.n_iter_ = chain.sweep
        self._set_arrays(self._word_counts_of(chain), chain.prior.alpha[0], chain.prior.beta)

    def _word_counts_of(self, chain: Chain) -> FloatArray:
        """Expected counts plus β by word [V, K]."""
        counts = chain.kept or self._final_counts(chain, docs=False)
        assert counts.word is not None
        return pseudo_counts(counts.word, counts.n_samples, chain.prior)

    def _doc_topic_of(self, chain: Chain) -> FloatArray:
        return self._theta(chain.kept or self._final_counts(chain, words=False), chain)

    def _theta(self, counts: Counts, chain: Chain) -> FloatArray:
        assert counts.doc is not None
        joined = join_documents(counts.doc, self.n_paths, self.doc_topic_paths)
        one = chain.prior._replace(alpha_row=chain.prior.alpha_row[: len(joined)])
        return theta(joined, counts.n_samples, self.corpus_, one)

    def _set_arrays(self, by_word: FloatArray, alpha: FloatArray, beta: FloatArray) -> None:
        self._by_word = by_word
        self._phi_by_word = by_word / by_word.sum(axis=0)
        self.alpha_, self.beta_ = alpha, beta

    def _final_counts(
        self, chain: Chain, *, docs: bool = True, words: bool = True, estimator: Estimator | None = None
    ) -> Counts:
        return topic_counts(
            repeated(self.corpus_, self.n_paths),
            chain.state,
            chain.prior,
            self.estimator if estimator is None else estimator,
            docs=docs,
            words=words,
            n_jobs=resolve_jobs(self.n_jobs),
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
        return int(self._by_word.shape[1])

    @property
    def doc_topic_(self) -> FloatArray:
        check_is_fitted(self, "seed_")
        if self._doc_topic is None:
            self._doc_topic = self._doc_topic_of(self.chains_[self.best_chain_])
        return self._doc_topic

    @property
    def corpus_(self) -> Corpus:
        """The training corpus (read on first use from a loaded model's directory)."""
        check_is_fitted(self, "seed_")
        if self._corpus is None:
            stored = self._stored_in()
            if not stored.has(CORPUS):
                raise StorageError(f"the model in {stored.folder} was saved without its corpus, so this is not known.")
            corpus = storage.read_corpus(stored)
            _stored_checks.check_same_corpus(stored.path(CORPUS), self, corpus)
            self._corpus = corpus
        return self._corpus

    def _stored_in(self) -> Stored:
        if self._stored is None:
            raise StorageError("this model was fed by partial_fit, which keeps no documents, so this is not known.")
        return self._stored

    @property
    def chains_(self) -> list[Chain]:
        """All chains, with the topic of every token (read on first use from a loaded model's directory)."""
        check_is_fitted(self, "seed_")
        if self._chains is None:
            chains = [self._load_chain(index) for index in range(len(self.traces_))]
            _stored_checks.check_published(self._stored_in().folder, self, chains)
            self._chains = chains
        return self._chains

    def _load_chain(self, index: int) -> Chain:
        sampled = repeated(self.corpus_, self.n_paths)
        of = self._belonging(self.corpus_)
        return storage.load_chain(self._stored_in(), index, sampled, get_kernel(self.sampler), of)

    def _belonging(self, corpus: Corpus) -> Belonging:
        """What the chains of a fit on this corpus must agree with."""
        return Belonging()

    @property
    def trace_(self) -> Trace:
        """What was recorded along the published chain."""
        return self.traces_[self.best_chain_]

    @property
    def fingerprint_(self) -> str:
        """A hash of all numbers that the model publishes or predicts with: equal for equal models."""
        check_is_fitted(self, "seed_")
        digest = blake2b(digest_size=16)
        for array in self._fitted_numbers():
            digest.update(np.ascontiguousarray(array, np.float64).data)
        return digest.hexdigest()

    def _fitted_numbers(self) -> list[Any]:
        """Topics, priors, log joints or bounds, and in subclasses whatever else their models learn."""
        return [self._by_word, self.alpha_, self.beta_, self.log_joint_]

    def estimate(self, estimator: Estimator) -> tuple[FloatArray, FloatArray]:
        """(θ [D, K], φ [K, V]) of the training corpus by either estimator, from the published chain's last state."""
        chain = self.chains_[self.best_chain_]
        counts = self._final_counts(chain, estimator=estimator)
        assert counts.word is not None
        by_word = pseudo_counts(counts.word, 1, chain.prior)
        return self._theta(counts, chain), (by_word / by_word.sum(axis=0)).T

    # -- new documents -------------------------------------------------------------------------------------------

    @in_output_container
    def transform(self, X: Any) -> FloatArray:
        """Topic proportions [D, K] of documents, with the topics held fixed.

        A document's answer depends on its words and the model's seed alone: not on its batch, its row or ``n_jobs``.
        A document without a known word gets the prior's mean.
        """
        check_is_fitted(self, "seed_")
        return self._transform(self._new_corpus(X))

    def _transform(self, corpus: Corpus) -> FloatArray:
        alpha, rows = self._document_prior(corpus)
        return with_prior(self._fold(corpus), alpha if rows is None else alpha[rows])

    def _document_prior(self, corpus: Corpus) -> tuple[FloatArray, Int32Array | None]:
        """α of new documents: one for all [K], or several [rows, K] and each document's row."""
        return self.alpha_, None

    def _fold(self, corpus: Corpus) -> FloatArray:
        """Expected topic counts [D, K] of documents, with the topics held fixed."""
        soft = self.estimator == "cgs_p"
        alpha, rows = self._document_prior(corpus)
        folded = fold_in(
            corpus, self._phi_by_word, alpha, alpha_row=rows, burn_in=self.predict_burn_in, lag=self.predict_lag,
            n_samples=self.predict_samples, n_chains=self.predict_chains, seed=self.seed_,
            n_jobs=resolve_jobs(self.n_jobs), hard=not soft, soft=soft,
        )  # fmt: skip
        counts = folded.soft if soft else folded.hard
        assert counts is not None
        return counts

    def perplexity(self, X: Any) -> float:
        """Held-out perplexity by completion: topics from one half of each document, words of the other scored."""
        check_is_fitted(self, "seed_")
        return self._perplexity(self._new_corpus(X))

    def _perplexity(self, corpus: Corpus) -> float:
        from topicloom.evaluation.predictive import completion_perplexity  # a fit needs none of it

        alpha, rows = self._document_prior(corpus)
        return completion_perplexity(
            self.topic_word_, alpha, corpus, alpha_row=rows, estimator=self.estimator, burn_in=self.predict_burn_in,
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
        corpus = self._new_corpus(X, report=False)  # ``transform`` does
        return frames.doc_topics_frame(corpus, np.asarray(self.transform(corpus)), frame)

    def top_docs(self, topic: int, n_docs: int = 10, *, frame: str | None = None) -> Any:
        """Training documents with the largest share of a topic."""
        check_is_fitted(self, "seed_")
        return frames.top_docs(self.corpus_, self.doc_topic_, topic, n_docs, frame)

    def top_words(self, n_words: int = 10) -> list[list[str]]:
        """The likeliest words of each topic."""
        check_is_fitted(self, "seed_")
        return frames.top_words(self.topic_word_, self.vocabulary_, n_words)

    # -- input ---------------------------------------------------------------------------------------------------

    def _training_corpus(self, X: Any) -> Corpus:
        if isinstance(X, Corpus):
            corpus = X
        elif _are_texts(X):
            corpus = from_texts(X)
        else:
            matrix = self._checked_matrix(X, reset=True)
            names = getattr(self, "feature_names_in_", None)
            corpus = from_matrix(matrix, None if names is None else [str(name) for name in names])
        _inputs.check_some_tokens(corpus)
        _inputs.check_weights(corpus)
        self._check_tokens(corpus)
        return corpus

    def _check_tokens(self, corpus: Corpus) -> None:
        """Whether the corpus is one that this model's inference can use."""
        _inputs.check_whole_tokens(corpus)

    def _checked_matrix(self, X: Any, reset: bool) -> Any:
        return checked_matrix(self, X, reset=reset)

    def _new_corpus(self, X: Any, *, report: bool = True) -> Corpus:
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
            matrix = self._checked_matrix(X, reset=False)
            corpus = from_matrix(matrix, self.vocabulary_)
        _inputs.check_weights(corpus, least=0.0)
        self._check_tokens(corpus)
        if report:
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
        where = counted(int(np.count_nonzero(corpus.unknown)), "documents")
        warn(
            f"{share:.0%} of the words in {where} are not in the model's "
            "vocabulary and are left out; Corpus.unknown has the number for each document.",
            UnknownWordsWarning,
        )
