"""What a fitted topic model has learned, as tables: words of topics, topics of documents, documents of topics."""

from typing import Any, Unpack

import numpy as np
from sklearn.utils.validation import check_is_fitted

from topicloom.corpus._checks import check_whole, shown
from topicloom.corpus.inputs import Reading
from topicloom.engine.estimator import tables
from topicloom.engine.estimator.names import Topic
from topicloom.errors import InputError, InputTypeError


class TopicTables:
    """The part of a topic model that makes tables of its arrays."""

    doc_topic_: Any  # arrays, which are properties of a topic model
    topic_word_: Any
    vocabulary_: tuple[str, ...]

    def topics_frame(self, n_words: int = 10, *, frame: str | None = None) -> Any:
        """The likeliest words of each topic, as a table.

        Parameters
        ----------
        n_words : int, default=10
            Words per topic.
        frame : {"pandas", "polars", "pyarrow", "rows"}, default=None
            Kind of table. None takes the first of them that is installed; "rows", ``topicloom.corpus.Rows``, needs
            nothing.

        Returns
        -------
        data frame or Rows
            A row per topic and word, with columns ``topic``, ``rank`` (from 1), ``word`` and ``probability``. If any
            topic has a name, there is a column ``name``, which is empty for the others.

        Examples
        --------
        >>> from topicloom import LDA
        >>> model = LDA(2, max_iter=10, random_state=0).fit(["river boat", "money bank"] * 5)
        >>> rows = model.topics_frame(3, frame="rows")
        >>> len(rows), list(rows[0])
        (6, ['topic', 'rank', 'word', 'probability'])
        """
        check_is_fitted(self, "seed_")
        model: Any = self  # a topic model has names
        return tables.topics_frame(self.topic_word_, self.vocabulary_, n_words, frame, model.topic_names_)

    def doc_topics_frame(self, X: Any = None, *, frame: str | None = None, **reading: Unpack[Reading]) -> Any:
        """Topic shares of documents, as a table.

        Parameters
        ----------
        X : documents, default=None
            New documents, as of ``transform``. None takes the training documents.
        frame : {"pandas", "polars", "pyarrow", "rows"}, default=None
            Kind of table, as of ``topics_frame``.
        **reading
            As of ``transform``.

        Returns
        -------
        data frame or Rows
            A row per document, with columns ``id``, ``tokens``, for new texts ``unknown_share`` (the share of words
            outside the vocabulary), and one per topic: its name, or ``topic_3`` for topic 3 if it has none.

        Examples
        --------
        >>> from topicloom import LDA
        >>> model = LDA(2, max_iter=10, random_state=0).fit(["river boat", "money bank"] * 5)
        >>> list(model.doc_topics_frame(["a river boat"], frame="rows")[0])
        ['id', 'tokens', 'unknown_share', 'topic_0', 'topic_1']
        """
        check_is_fitted(self, "seed_")
        model: Any = self  # a topic model has names and a corpus, and reads documents
        if X is None:
            return tables.doc_topics_frame(model.corpus_, self.doc_topic_, frame, model.topic_names_)
        corpus = model._new_corpus(X, reading, report=False)  # ``transform`` does
        return tables.doc_topics_frame(corpus, np.asarray(model.transform(corpus)), frame, model.topic_names_)

    def top_docs(
        self, topic: Topic, n_docs: int = 10, *, text_length: int | None = 200, frame: str | None = None
    ) -> Any:
        """Training documents with the largest share of a topic, as a table.

        Parameters
        ----------
        topic : int or str
            The topic, by its number or its name.
        n_docs : int, default=10
            How many documents.
        text_length : int, default=200
            Characters of each text, if the corpus keeps its texts. None leaves texts whole, 0 leaves them out.
        frame : {"pandas", "polars", "pyarrow", "rows"}, default=None
            Kind of table, as of ``topics_frame``.

        Returns
        -------
        data frame or Rows
            A row per document, the largest share first, with columns ``document`` (its row in the corpus), ``id``,
            ``share``, ``tokens`` and, if the corpus keeps its texts, ``text``.

        Raises
        ------
        InputError
            If there is no such topic.

        Examples
        --------
        >>> from topicloom import LDA
        >>> texts = ["river boat river", "money bank money"] * 5
        >>> model = LDA(2, max_iter=40, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).fit(texts)
        >>> found = {model.top_docs(topic, 1, frame="rows")[0]["document"] % 2 for topic in (0, 1)}
        >>> found == {0, 1}
        True
        """
        check_is_fitted(self, "seed_")
        model: Any = self  # a topic model has names and a corpus
        return tables.top_docs(
            model.corpus_, self.doc_topic_, model._topic_number(topic), n_docs, frame, text_length=text_length
        )

    def similar_words(self, word: str, n_words: int = 10) -> list[tuple[str, float]]:
        """The words that are likeliest where a word is, by the topics that they share.

        A topic has probability in proportion to α and to its share of the word. From this topic the other word is
        drawn (CGS_p eq. 57 and its footnote).

        Parameters
        ----------
        word : str
            A word of the vocabulary.
        n_words : int, default=10
            How many words.

        Returns
        -------
        list of (str, float)
            Words and their probabilities, the likeliest first. The word itself is left out. All words of the
            vocabulary and the word itself add up to 1.

        Raises
        ------
        InputError
            If the word is not in the vocabulary.
        InputTypeError
            If it is not a string.

        See Also
        --------
        topicloom.evaluation.word_association : All words, of several cues, for any topics.

        Examples
        --------
        >>> from topicloom import LDA
        >>> texts = ["river boat river", "money bank money"] * 5
        >>> model = LDA(2, max_iter=40, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).fit(texts)
        >>> [(word, round(p, 2)) for word, p in model.similar_words("boat", 1)]
        [('river', 0.64)]
        """
        check_is_fitted(self, "seed_")
        from topicloom.evaluation.association import word_association  # a fit needs none of it

        check_whole("n_words", n_words, 1)
        if not isinstance(word, str):
            raise InputTypeError(f"word={shown(word)} must be a word of the vocabulary, a string.")
        if word not in self.vocabulary_:
            raise InputError(f"the vocabulary has no word {shown(word)}; model.vocabulary_ lists its words.")
        cue = self.vocabulary_.index(word)
        model: Any = self  # a topic model has priors
        found = word_association(self.topic_word_, [cue], model.alpha_)[0]
        order = [v for v in np.argsort(-found, kind="stable").tolist() if v != cue]
        return [(self.vocabulary_[v], float(found[v])) for v in order[:n_words]]

    def top_words(self, n_words: int = 10) -> list[list[str]]:
        """The likeliest words of each topic.

        Parameters
        ----------
        n_words : int, default=10
            Words per topic.

        Returns
        -------
        list of list of str
            A list per topic, the likeliest word first.

        Examples
        --------
        >>> from topicloom import LDA
        >>> texts = ["river boat river", "money bank money"] * 5
        >>> model = LDA(2, max_iter=40, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).fit(texts)
        >>> sorted(model.top_words(2))
        [['money', 'bank'], ['river', 'boat']]
        """
        check_is_fitted(self, "seed_")
        return tables.top_words(self.topic_word_, self.vocabulary_, n_words)
