"""Topics that can be learned from a stream: ``partial_fit``, new words, and how the stream goes."""

from collections.abc import Mapping
from typing import Any, Self, Unpack

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from topicloom._types import FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.frames import to_frame
from topicloom.corpus.inputs import Reading
from topicloom.engine.estimator import inputs, parameters
from topicloom.engine.estimator.fitted import Problem
from topicloom.engine.estimator.parameters import plain
from topicloom.engine.estimator.reading import with_all_words
from topicloom.engine.run import start_chain
from topicloom.errors import InputError
from topicloom.lda.statement import PlainTopics
from topicloom.lda.variational import stream
from topicloom.lda.variational.sampler import Settings, memory_note, variational_sampler
from topicloom.lda.variational.stochastic import STOCHASTIC_MODES

_MADE_WITH = ("n_components", "method", "doc_topic_prior", "topic_word_prior", "seed_words", "seed_weight")
_ENOUGH = 10  # batches after which a stream's topics are to tell something


def _learns_from_a_stream(model: Any) -> bool:
    if model.method in STOCHASTIC_MODES:
        return True
    raise AttributeError(
        f"this {type(model).__name__} has no method 'partial_fit', since method={model.method!r} needs all documents "
        'at once; use VariationalLDA with method="scvb0" or method="svb".'
    )


class StreamedTopics(PlainTopics):
    """Topics with methods that learn from documents as they come, and keep none of them."""

    method: Any
    total_samples: float
    new_words: str
    _made_with: dict[str, Any]  # what partial_fit cannot change
    _told: bool = False  # of a stream's topics or priors, once

    def _settings(self, total_docs: float) -> Settings:
        """How the method is run, for so many documents in all."""
        raise NotImplementedError

    @available_if(_learns_from_a_stream)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, *, score_first: bool = False, **reading: Unpack[Reading]) -> Self:
        """Learn from more documents (``method="scvb0"`` or ``"svb"``), in minibatches of ``batch_size``.

        The first call sets the vocabulary, the number of topics and the priors to start from, which later calls cannot
        change. With ``new_words="add"`` words of later texts or corpora that are new join the vocabulary.
        ``total_samples`` says how many documents there will be in all. The documents are not kept.

        Parameters
        ----------
        X : as of ``fit``
            Documents in their order. Words of a corpus are matched by name; a matrix has the columns of the vocabulary.
        y : ignored
        reading : as of ``fit``
        score_first : bool, default=False
            Whether to score each minibatch before it is learned: an honest held-out score without data of its own.
            ``stream_frame`` and ``trace_.score`` have it. No topic depends on it.

        Returns
        -------
        self

        Examples
        --------
        >>> from topicloom import VariationalLDA
        >>> model = VariationalLDA(2, method="scvb0", new_words="add", total_samples=4, random_state=0)
        >>> model = model.partial_fit(["river bank river", "money bank loan"])
        >>> model.partial_fit(["river boat", "money market"], score_first=True).vocabulary_
        ('bank', 'loan', 'money', 'river', 'boat', 'market')
        """
        first = not hasattr(self, "seed_")
        if not first:
            self._check_same_stream()
        seed = inputs.draw_seed(self.random_state) if first else self.seed_
        plan, settings = self._plan(seed), self._settings(self.total_samples)
        self._check_stream_options(score_first)
        corpus = self._training_corpus(X, reading) if first else self._more_documents(X, reading)
        sampler = variational_sampler(settings, None)
        known = corpus.n_words if first else len(self.vocabulary_)
        if first or corpus.n_words > known:
            memory_note(corpus, self.method, self.n_components)
        begun = start_chain(sampler, corpus, self._prior(corpus), seed, 0) if first else self.chains_[self.best_chain_]
        chain = begun if first else stream.copied(begun, corpus.n_words)
        value = stream.learn(corpus, chain, known, settings, plan, score_first=score_first)
        how = (corpus.text_options, corpus.reading) if first else (self._text_options, self._reading)
        problem = Problem(corpus, corpus, sampler, lambda: chain.prior, plan, 1)
        self._publish_all(problem, [chain], np.array([value]), False, None if first else self._saved_names())
        self._corpus = None
        self._text_options, self._reading = how
        if corpus.n_words > known and hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # of a frame that had fewer words
        if not self._told and int(chain.state.batches[0]) >= _ENOUGH:
            self._told = self._report(problem, chain)
        return self

    def _check_stream_options(self, score_first: Any) -> None:
        parameters.flag("score_first", score_first)
        if self.new_words == "add" and inputs.is_vector("topic_word_prior", self.topic_word_prior):
            raise InputError(
                "topic_word_prior has a number for each word, and none for words that are yet to come; give one number "
                'for all, or new_words="ignore".'
            )

    def _more_documents(self, X: Any, reading: Mapping[str, Any]) -> Corpus:
        """Documents that follow in a stream, in its vocabulary; if new words are added, in one that has them, too."""
        if self.new_words == "ignore":
            return self._new_corpus(X, reading)
        given = with_all_words(self, X, reading)
        corpus = given.with_vocabulary(stream.grown_vocabulary(self.vocabulary_, given))
        inputs.check_weights(corpus, least=0.0)
        self._check_tokens(corpus)
        return corpus

    def stream_frame(self, *, frame: str | None = None) -> Any:
        """A row for each minibatch that ``partial_fit`` has learned: how the stream goes.

        Columns are ``batch`` (its number, from 1), ``tokens`` (or their weight), ``words`` (that are known after it),
        ``bound`` (its documents' part of the bound, per token), ``score`` (mean log probability of a held-out word
        before the minibatch was learned, NaN without ``score_first``) and ``alpha_sum``.

        Parameters
        ----------
        frame : {"pandas", "polars", "pyarrow"}, optional
            By default pandas where that is installed.

        Returns
        -------
        data frame

        Examples
        --------
        >>> from topicloom import VariationalLDA
        >>> from topicloom.datasets import bars
        >>> model = VariationalLDA(4, method="scvb0", batch_size=50, total_samples=100, random_state=0)
        >>> model.partial_fit(bars(n_docs=100).corpus, score_first=True).stream_frame(frame="pandas").shape
        (2, 6)
        """
        check_is_fitted(self, "seed_")
        return to_frame(stream.progress(self.trace_), frame)

    def _check_same_stream(self) -> None:
        """Whether what the topics were made with is as it was: more documents cannot change it."""
        for name, before in self._made_with.items():
            if (now := plain(getattr(self, name))) != before:
                raise InputError(
                    f"{name} was {before!r} when this model was fitted and is {now!r} now; partial_fit cannot change "
                    "it. Set it back, or make a new model."
                )

    def _set_arrays(self, by_word: FloatArray, alpha: FloatArray, beta: FloatArray) -> None:
        super()._set_arrays(by_word, alpha, beta)
        self._made_with = {name: plain(getattr(self, name)) for name in _MADE_WITH}
