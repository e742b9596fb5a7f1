"""Words' names that a model is given after its fit, where it was fitted on a matrix whose columns have none."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from topicloom.corpus._checks import NOT_ENCODABLE, is_encodable, shown
from topicloom.corpus.corpus import Corpus
from topicloom.errors import InputError, counted


class NamedWords:
    """A fitted model whose words can be given names. Results do not depend on them."""

    vocabulary_: tuple[str, ...]
    _corpus: Corpus | None

    def _corpus_at_hand(self) -> Corpus | None:
        raise NotImplementedError

    def set_vocabulary(self, words: Any) -> Self:
        """Give names to the words of a model that was fitted on a matrix, for instance in a scikit-learn pipeline.

        Tables, plots and the explorer show them, and ``save`` keeps them. No number changes, and neither does
        ``fingerprint_``, which is of numbers alone. The fingerprint of ``corpus_`` does change, since that is of the
        words, too. A later ``fit`` starts anew.

        Parameters
        ----------
        words : sequence of str or fitted transformer
            The name of each column of the matrix; or what has ``get_feature_names_out()``, such as a fitted
            ``CountVectorizer``, or all steps of a pipeline before the model.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If there is not one name per word, or two words would have the same.

        Examples
        --------
        >>> from sklearn.feature_extraction.text import CountVectorizer
        >>> from sklearn.pipeline import make_pipeline
        >>> from topicloom import LDA
        >>> pipe = make_pipeline(CountVectorizer(), LDA(2, max_iter=40, random_state=0))
        >>> pipe = pipe.fit(["river bank river", "loan money loan"] * 20)
        >>> pipe[-1].vocabulary_
        ('word0', 'word1', 'word2', 'word3')
        >>> pipe[-1].set_vocabulary(pipe[:-1]).vocabulary_
        ('bank', 'loan', 'money', 'river')
        """
        check_is_fitted(self, "seed_")
        named = checked_words(words, len(self.vocabulary_))
        corpus = self._corpus_at_hand()
        if corpus is not None:
            self._corpus = replace(corpus, vocabulary=named)
        self.vocabulary_ = named
        return self


def checked_words(words: Any, n_words: int) -> tuple[str, ...]:
    """A name for each word."""
    if hasattr(words, "get_feature_names_out"):
        try:
            words = words.get_feature_names_out()
        except Exception as error:  # of a class, of one that is not fitted, or of a foreign one
            raise InputError(f"words is {shown(words)}, whose get_feature_names_out() fails: {error}") from None
    if isinstance(words, str | bytes) or not isinstance(words, Iterable):
        raise InputError(
            f"words is {shown(words)}; give a list with the name of each word, or a fitted vectorizer, which has "
            "get_feature_names_out()."
        )
    named = list(words)
    if len(named) != n_words:
        raise InputError(
            f"there are {counted(len(named), 'names')} for {counted(n_words, 'words')}; give one for each column of "
            "the matrix that the model was fitted on."
        )
    first: dict[str, int] = {}
    for v, name in enumerate(named):
        if not isinstance(name, str):
            raise InputError(f"the name of word {v} is {shown(name)}; it must be a string.")
        if not is_encodable(name):
            raise InputError(f"the name of word {v} is {shown(name)}, {NOT_ENCODABLE}")
        if first.setdefault(name, v) != v:
            raise InputError(f"words {first[name]} and {v} would both be named {shown(name)}; give each its own name.")
    return tuple(str(name) for name in named)
