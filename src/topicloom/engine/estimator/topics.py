"""What every topic model shares once it is fitted: its arrays, new documents, tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from topicloom._types import AnyArray, BoolArray, FloatArray, Int32Array
from topicloom.corpus.corpus import Corpus, TextOptions
from topicloom.corpus.stored import saved_options
from topicloom.corpus.text_options import restored
from topicloom.engine.checks import TOPICS, Recorded
from topicloom.engine.estimates import Counts, Estimator, pseudo_counts, theta, with_prior
from topicloom.engine.estimator import html, inputs, parameters, published, stored_checks, tables
from topicloom.engine.estimator.explained import ExplainedTopics
from topicloom.engine.estimator.fitted import FittedModel, Problem
from topicloom.engine.estimator.function_words import report_function_words
from topicloom.engine.estimator.matrices import checked_matrix
from topicloom.engine.estimator.new_documents import NOTHING, NewDocuments
from topicloom.engine.estimator.reading import check_one_target, new_corpus, training_corpus
from topicloom.engine.estimator.topic_tables import TopicTables
from topicloom.engine.estimator.transforming import TransformsFiles
from topicloom.engine.estimator.vocabulary import NamedWords
from topicloom.engine.expected_counts import expected_counts
from topicloom.engine.fold_in import fold_in_corpus
from topicloom.engine.multipath import DocTopicPaths, join_documents, repeated
from topicloom.engine.probes import probes_of
from topicloom.engine.run import Chain
from topicloom.engine.threads import threads_for
from topicloom.errors import UnknownWordsWarning, counted, warn
from topicloom.files.arrays import from_bytes, to_bytes
from topicloom.files.checks import Contents
from topicloom.files.directories import Part, Stored
from topicloom.files.manifests import MODEL

_MANY_UNKNOWN = 0.2  # share of unknown words in a batch from which a warning is due


class TopicModel(
    TransformsFiles,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    NewDocuments,
    TopicTables,
    ExplainedTopics,
    FittedModel,
    NamedWords,
):
    """A fitted topic model. Subclasses bring the parameters and ``fit``."""

    estimator: Estimator
    predict_options: parameters.PredictOptions | None
    n_paths: int = 1

    alpha_: FloatArray
    beta_: FloatArray
    empty_docs_: BoolArray
    n_features_in_: int
    vocabulary_: tuple[str, ...]
    _by_word: FloatArray  # [V, K] expected counts plus β
    _phi_by_word: FloatArray  # [V, K] the same, normalised
    _text_options: TextOptions | None
    _quiet: bool = False  # about its topics: another model made it for itself
    _reading: Mapping[str, Any] | None = None  # columns and options by which the documents of the fit were read
    _doc_topic: FloatArray | None

    _DOC_PRIOR: ClassVar[str] = "doc_topic_prior"
    _TOPICS: ClassVar[str] = "topics"

    @property
    def _recorded(self) -> Recorded:
        """What traces have."""
        return TOPICS

    def _n_named(self) -> int:
        return self._n_features_out

    def _label_words(self, n_words: int) -> list[list[str]]:
        counts = tables.word_counts(self._corpus_at_hand(), self._by_word)
        return tables.relevant_words(self.topic_word_, counts, self.vocabulary_, n_words)

    # -- publishing ----------------------------------------------------------------------------------------------

    def _publish(self, problem: Problem, chains: list[Chain]) -> None:
        corpus, chain = problem.corpus, chains[self.best_chain_]
        self._doc_topic = None
        self.vocabulary_, self.empty_docs_ = corpus.vocabulary, corpus.empty_docs
        self.n_features_in_ = corpus.n_words
        self._text_options, self._reading = corpus.text_options, corpus.reading
        if self._matches is None:
            self._set_arrays(self._word_counts_of(chain), chain.prior.alpha[0], chain.prior.beta)
            return
        by_word = published.merged([self._word_counts_of(one) for one in chains], self._matches)
        alpha = published.merged([one.prior.alpha[0] for one in chains], self._matches)
        self._set_arrays(by_word, alpha, np.mean([one.prior.beta for one in chains], axis=0))

    def _report(self, problem: Problem, best: Chain) -> bool:
        learns_documents = problem.plan.learn_alpha or self._learns_rows()
        learned = [self._DOC_PRIOR] * learns_documents + ["topic_word_prior"] * problem.plan.learn_beta
        return published.report_topics(self, problem.corpus, best.prior, learned, what=self._TOPICS)

    def _learns_rows(self) -> bool:
        """Whether a prior of documents is learned beside α."""
        return False

    def _probe_names(self) -> list[str]:
        return probes_of(repeated(self.corpus_, getattr(self, "n_paths", 1))).names

    def _word_counts_of(self, chain: Chain) -> FloatArray:
        """Expected counts plus β by word [V, K]."""
        counts = chain.kept or chain.last or self._final_counts(chain, docs=False)
        assert counts.word is not None
        return pseudo_counts(counts.word, counts.n_samples, chain.prior)

    def _doc_topic_of(self, chain: Chain) -> FloatArray:
        return self._theta(chain.kept or self._final_counts(chain, words=False), chain)

    def _theta(self, counts: Counts, chain: Chain, paths: DocTopicPaths = "mean") -> FloatArray:
        assert counts.doc is not None
        joined = join_documents(counts.doc, self.n_paths, paths)
        one = chain.prior._replace(alpha_row=chain.prior.alpha_row[: len(joined)])
        return theta(joined, counts.n_samples, self.corpus_, one)

    def _set_arrays(self, by_word: FloatArray, alpha: FloatArray, beta: FloatArray) -> None:
        self._by_word = by_word
        self._phi_by_word = by_word / by_word.sum(axis=0)
        self.alpha_, self.beta_ = alpha, beta

    def _final_counts(
        self, chain: Chain, *, docs: bool = True, words: bool = True, estimator: Estimator | None = None
    ) -> Counts:
        counts: Counts = self._chain_sampler().topic_counts(
            repeated(self.corpus_, self.n_paths),
            chain.state,
            chain.prior,
            self.estimator if estimator is None else estimator,
            docs=docs,
            words=words,
            n_jobs=threads_for(self.n_jobs),
        )
        return counts

    # -- what was learned ----------------------------------------------------------------------------------------

    @property
    def components_(self) -> FloatArray:
        """Expected counts of words in topics, plus β: array of shape (n_topics, n_words)."""
        return self._by_word.T

    @property
    def topic_word_(self) -> FloatArray:
        """Probability of each word in each topic: array of shape (n_topics, n_words)."""
        return self._phi_by_word.T

    @property
    def _n_features_out(self) -> int:
        return int(self._by_word.shape[1])

    @property
    def doc_topic_(self) -> FloatArray:
        """Share of each topic in each training document, of shape (n_docs, n_topics). Made on first use."""
        check_is_fitted(self, "seed_")
        if self._doc_topic is None:
            if self._matches is None:
                self._doc_topic = self._doc_topic_of(self.chains_[self.best_chain_])
            else:
                shares = published.merged([self._doc_topic_of(chain) for chain in self.chains_], self._matches)
                self._doc_topic = shares / shares.sum(axis=1, keepdims=True)
        return self._doc_topic

    def _check_corpus(self, path: Path, corpus: Corpus) -> None:
        check = stored_checks.check_same_corpus if hasattr(self, "seed_") else stored_checks.check_training_corpus
        check(path, self, corpus)

    def _fitted_numbers(self) -> list[Any]:
        """Topics, priors, log joints or bounds, and in subclasses whatever else their models learn."""
        merged = [] if self._matches is None else [self._matches]  # which the documents' shares follow from
        return [self._by_word, self.alpha_, self.beta_, self.log_joint_, *merged]

    def estimate(self, estimator: Estimator) -> tuple[FloatArray, FloatArray]:
        """Estimates of θ and φ from the last state of the published chain, by either estimator.

        Parameters
        ----------
        estimator : {"cgs_p", "standard"}
            How counts are read off the sampled topics, whatever the parameter ``estimator`` says.

        Returns
        -------
        theta : ndarray of shape (n_docs, n_topics)
            Topic shares of the training documents.
        phi : ndarray of shape (n_topics, n_words)
            Word probabilities of the topics.

        Examples
        --------
        >>> from topicloom import LDA
        >>> model = LDA(2, max_iter=10, random_state=0).fit(["river boat", "money bank", "river bank"])
        >>> theta, phi = model.estimate("standard")
        >>> theta.shape, phi.shape
        ((3, 2), (2, 4))
        """
        return self._estimate(estimator, "mean")

    def _estimate(self, estimator: Estimator, paths: DocTopicPaths) -> tuple[FloatArray, FloatArray]:
        chain = self.chains_[self.best_chain_]
        counts = self._final_counts(chain, estimator=estimator)
        assert counts.word is not None
        by_word = pseudo_counts(counts.word, 1, chain.prior)
        return self._theta(counts, chain, paths), (by_word / by_word.sum(axis=0)).T

    # -- new documents -------------------------------------------------------------------------------------------

    def _transform(self, corpus: Corpus) -> FloatArray:
        alpha, rows = self._document_prior(corpus)
        return with_prior(self._fold(corpus), alpha if rows is None else alpha[rows])

    def _document_prior(self, corpus: Corpus) -> tuple[FloatArray, Int32Array | None]:
        """α of new documents: one for all [K], or several [rows, K] and each document's row."""
        return self.alpha_, None

    def _fold(self, corpus: Corpus) -> FloatArray:
        """Expected topic counts [D, K] of documents, with the topics held fixed."""
        alpha, rows = self._document_prior(corpus)
        return self._expected_counts(corpus, self._phi_by_word, alpha, rows, self.seed_)

    def _prediction(self) -> parameters.Prediction:
        """How topics of new documents are found."""
        return parameters.read_prediction(self)

    def _expected_counts(
        self, corpus: Corpus, phi_by_word: FloatArray, alpha: FloatArray, rows: Int32Array | None, seed: int
    ) -> FloatArray:
        """Expected topic counts [D, K] of documents, given topics [V, K] and α."""
        how, n_jobs = self._prediction(), threads_for(self.n_jobs)
        if how.method == "cvb0":
            return expected_counts(
                corpus, phi_by_word, alpha, alpha_row=rows, tol=how.tol, max_iter=how.max_iter, n_jobs=n_jobs
            )
        soft = how.estimator == "cgs_p"
        folded = fold_in_corpus(
            corpus, phi_by_word, alpha, alpha_row=rows, burn_in=how.burn_in, thin=how.thin, n_samples=how.n_samples,
            n_chains=how.n_chains, seed=seed, n_jobs=n_jobs, hard=not soft, soft=soft,
        )  # fmt: skip
        counts = folded.soft if soft else folded.hard
        assert counts is not None
        return counts

    def _perplexity(self, corpus: Corpus) -> float:
        alpha, rows = self._document_prior(corpus)
        return self._completion(corpus, self.topic_word_, alpha, rows, self._prediction())

    def _completion(
        self, corpus: Corpus, topics: FloatArray, alpha: FloatArray, rows: Int32Array | None,
        how: parameters.Prediction,
    ) -> float:  # fmt: skip
        from topicloom.evaluation.predictive import completion_perplexity  # a fit needs none of it

        return completion_perplexity(
            topics, alpha, corpus, alpha_row=rows, seed=self.seed_, n_jobs=threads_for(self.n_jobs), **how._asdict()
        )

    # -- shown ---------------------------------------------------------------------------------------------------

    def _html_content(self) -> html.Content:
        return html.topic_content(self)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Names of the columns of ``transform``: names or labels of topics, or ``lda3`` for topic 3 of an LDA.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Not used; scikit-learn's tools pass it.

        Returns
        -------
        ndarray of str objects, of shape (n_topics,)

        Examples
        --------
        >>> from topicloom import LDA
        >>> model = LDA(2, max_iter=10, random_state=0).fit(["river boat", "money bank"])
        >>> model.set_topic_names({1: "banks"}).get_feature_names_out().tolist()
        ['lda0', 'banks']
        """
        plain = super().get_feature_names_out(input_features).tolist()
        return np.array(tables.named_columns(plain, self.topic_names_), dtype=object)

    # -- input ---------------------------------------------------------------------------------------------------

    def _training_corpus(self, X: Any, reading: Mapping[str, Any] = NOTHING, y: Any = None) -> Corpus:
        """Documents to learn from; ``y`` is what they are given beside them, and not read here."""
        check_one_target(y, reading, self._TARGET)
        corpus = training_corpus(self, X, reading)
        inputs.check_some_tokens(corpus)
        inputs.check_weights(corpus)
        self._check_tokens(corpus)
        if not self._quiet:
            report_function_words(corpus)
        return corpus

    def _check_tokens(self, corpus: Corpus) -> None:
        """Whether the corpus is one that this model's inference can use."""
        inputs.check_whole_tokens(corpus)

    def _check_new_tokens(self, corpus: Corpus) -> None:
        """Whether the topics of these documents can be found: what draws no topics takes fractions of tokens, too."""
        if "predict_options" not in self._OPTIONS or self._prediction().method == "gibbs":
            self._check_tokens(corpus)

    def _checked_matrix(self, X: Any, reset: bool) -> Any:
        return checked_matrix(self, X, reset=reset)

    def _new_corpus(
        self, X: Any, reading: Mapping[str, Any] = NOTHING, *, roles: Sequence[str] = (), report: bool = True
    ) -> Corpus:
        """New documents; ``roles`` are what is wanted of a frame beside its texts."""
        corpus = new_corpus(self, X, reading, roles)
        inputs.check_weights(corpus, least=0.0)
        self._check_new_tokens(corpus)
        if report:
            _report_unknown(corpus)
        return corpus

    # -- files ---------------------------------------------------------------------------------------------------

    def _own_arrays(self) -> dict[str, AnyArray]:
        """What a kind of model has beside topics and priors, by name."""
        return {}

    def _set_own_arrays(self, arrays: dict[str, AnyArray]) -> None:
        """The same, from a file."""

    def _check_own(self, file: Contents) -> None:
        """Refuse a file whose arrays of this kind are not what they must be, or that has others."""
        stored_checks.check_positive_alpha(file)
        file.expect_no_others()

    def _model_part(self) -> Part:
        """The finished estimates."""
        arrays: dict[str, AnyArray] = {
            "by_word": self._by_word,
            "alpha": self.alpha_,
            "beta": self.beta_,
            "log_joint": self.log_joint_,
            "empty_docs": self.empty_docs_,
            "vocabulary": to_bytes(self.vocabulary_),
        }
        info = {
            "best_chain": self.best_chain_,
            "n_iter": self.n_iter_,
            "n_chains": len(self.traces_),
            "interrupted": self.interrupted_,
            "text_options": saved_options(self._text_options),
            "reading": self._reading,
        }
        matches, published_by = self._published_part()
        return arrays | self._own_arrays() | self._trace_arrays() | matches, info | published_by

    def _set_model(self, stored: Stored, arrays: dict[str, AnyArray], info: Any) -> None:
        self._check_own(stored_checks.topic_model(stored.path(MODEL), arrays, info, self))
        self._set_arrays(arrays["by_word"], arrays["alpha"], arrays["beta"])
        self.empty_docs_, self.vocabulary_ = arrays["empty_docs"], tuple(from_bytes(arrays["vocabulary"]))
        self._text_options, self._reading = restored(info["text_options"]), info.get("reading")
        self.n_features_in_, self._doc_topic, self.n_iter_ = len(self.vocabulary_), None, info["n_iter"]
        self._set_own_arrays(arrays)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


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
