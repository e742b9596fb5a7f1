"""What a fitted topic model says of documents: their topics, and how well it predicts their words."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Unpack

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from topicloom._types import FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.inputs import Reading
from topicloom.engine.estimator.reading import check_one_target, read_once

NOTHING: Mapping[str, Any] = MappingProxyType({})


class NewDocuments(TransformerMixin):  # type: ignore[misc]
    """The part of a topic model that takes documents: those that it learns from, and others."""

    _TARGET: ClassVar[str | None] = None  # the column of a frame that may stand for y

    # -- what a model brings -------------------------------------------------------------------------------------

    def _new_corpus(self, X: Any, reading: Mapping[str, Any] = NOTHING) -> Corpus:
        """New documents in the model's vocabulary."""
        raise NotImplementedError

    def _transform(self, corpus: Corpus) -> FloatArray:
        """Topic proportions [D, K]."""
        raise NotImplementedError

    def _perplexity(self, corpus: Corpus) -> float:
        """Held-out perplexity by completion."""
        raise NotImplementedError

    # -- what it says --------------------------------------------------------------------------------------------

    def transform(self, X: Any, **reading: Unpack[Reading]) -> FloatArray:
        """Topic proportions of documents, with topics and priors held fixed.

        The answer for a document depends on its words and the model alone: not on its batch, its row or ``n_jobs``. A
        document without a known word gets the mean of the prior.

        Parameters
        ----------
        X : texts, lists of words, a data frame, a matrix of counts, a Corpus or anything else that ``fit`` takes
            The documents. They are read as in the fit: texts are cut alike, and the same columns of a frame are taken.
        **reading
            Columns of a frame, such as ``text="review"``, if they are not those of the fit.

        Returns
        -------
        ndarray of shape (n_docs, n_topics)
            Each row sums to 1.

        Warns
        -----
        UnknownWordsWarning
            If a fifth or more of the words are not in the vocabulary.

        Examples
        --------
        >>> from topicloom import LDA
        >>> texts = ["river boat river", "money bank money"] * 10
        >>> model = LDA(2, max_iter=40, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).fit(texts)
        >>> boat, bank = model.transform(["a boat", "a bank"]).argmax(axis=1)
        >>> bool(boat != bank)
        True
        """
        check_is_fitted(self, "seed_")
        return self._transform(self._new_corpus(X, reading))

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> FloatArray:
        """Learn, then return what ``transform`` says of the same documents.

        Documents are read once, so ``X`` may be a generator. Topics are found as for new documents; ``doc_topic_`` has
        the estimate from training itself.

        Parameters
        ----------
        X : texts, lists of words, a data frame, a matrix of counts, a Corpus or anything else that ``fit`` takes
            The documents.
        y : array-like, default=None
            As of ``fit``.
        **fit_params
            Other arguments of ``fit``.

        Returns
        -------
        ndarray of shape (n_docs, n_topics)

        Examples
        --------
        >>> from topicloom import LDA
        >>> LDA(2, max_iter=10, random_state=0).fit_transform(["river boat", "money bank", "river bank"]).shape
        (3, 2)
        """
        how = {name: fit_params.pop(name) for name in list(fit_params) if name in Reading.__annotations__}
        check_one_target(y, how, self._TARGET)
        X = read_once(X, how)
        self.fit(X, y, **fit_params)
        return self._transform(self._new_corpus(X))

    def perplexity(self, X: Any, **reading: Unpack[Reading]) -> float:
        """Held-out perplexity by completion: topics from one half of each document, words of the other half scored.

        Parameters
        ----------
        X : texts, lists of words, a data frame, a matrix of counts, a Corpus or anything else that ``fit`` takes
            Documents that the model has not seen.
        **reading
            As of ``transform``.

        Returns
        -------
        float
            Lower is better. A model that knows nothing has the number of words.

        Examples
        --------
        >>> from topicloom import LDA
        >>> from topicloom.datasets import bars
        >>> corpus = bars(n_docs=100).corpus
        >>> model = LDA(10, max_iter=60, random_state=0).fit(corpus.select(range(80)))
        >>> model.perplexity(corpus.select(range(80, 100))) < len(model.vocabulary_)
        True
        """
        check_is_fitted(self, "seed_")
        return self._perplexity(self._new_corpus(X, reading))

    def score(self, X: Any, y: Any = None, **reading: Unpack[Reading]) -> float:
        """Mean log probability of a held-out word, −log ``perplexity``.

        Parameters
        ----------
        X : texts, lists of words, a data frame, a matrix of counts, a Corpus or anything else that ``fit`` takes
            Documents that the model has not seen.
        y : None
            Not used.
        **reading
            As of ``transform``.

        Returns
        -------
        float
            Higher is better. Numbers of documents need not be equal to compare two scores.

        Examples
        --------
        >>> import math
        >>> from topicloom import LDA
        >>> from topicloom.datasets import bars
        >>> corpus = bars(n_docs=40).corpus
        >>> model = LDA(10, max_iter=10, random_state=0).fit(corpus)
        >>> math.isclose(model.score(corpus), -math.log(model.perplexity(corpus)))
        True
        """
        return -float(np.log(self.perplexity(X, **reading)))
