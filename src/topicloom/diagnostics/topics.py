"""Diagnostics of single topics: MALLET's twelve measures, with MALLET's definitions and digits.

Low values of one and high values of another point at topics that deserve a second look: too small, too general,
made of unrelated words, or of one long document. Each measure is defined in ``TopicDiagnostics``.
"""

import csv
import io
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from topicloom._types import FloatArray, Int64Array
from topicloom.corpus._checks import check_number, check_whole
from topicloom.corpus._lines import replacing
from topicloom.corpus.frames import to_frame
from topicloom.diagnostics import html
from topicloom.diagnostics.topic_measures import MEASURES, TopWords, measure
from topicloom.diagnostics.topic_sources import Assignments, read_draws, read_source
from topicloom.diagnostics.topic_statistics import check_top_words
from topicloom.evaluation.collections import Interval, draw_interval
from topicloom.files.arrays import as_path

__all__ = ["MEASURES", "Assignments", "TopWords", "TopicDiagnostics", "topic_diagnostics"]

_IN_XML = {"word_length": "word-length", "token_doc_diff": "token-doc-diff"}  # what MALLET writes with a hyphen
_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

PathLike = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class TopicDiagnostics:
    """Twelve measures of each topic, arrays of shape (n_topics,), and the values of its top words.

    n_k is the number of tokens of topic k, n_kv those of word v, n_dk those in document d; V is the size of the
    vocabulary and M is ``n_top_words``. Definitions are those of MALLET's ``TopicModelDiagnostics``.

    Attributes
    ----------
    tokens : n_k.
    document_entropy : entropy (nats) of n_dk / n_k over documents. Low: the topic lives in few documents.
    word_length : mean length of the top words, in UTF-16 characters.
    coherence : Σ over pairs of top words of log (D(w, v) + β) / (D(v) + β), v the better word. D counts documents in
        which the words *have this topic*. ``topicloom.evaluation.coherence(measure="u_mass")`` counts all documents
        with the words and adds 1 in place of β.
    uniform_dist : Kullback-Leibler divergence (nats) of n_kv / n_k from the uniform distribution over V words.
    corpus_dist : the same, from the words' shares of the whole corpus. Low: the topic says nothing of its own.
    eff_num_words : 1 / Σ_v (n_kv / n_k)². ``topicloom.evaluation.effective_words`` takes the exponential of the
        entropy of the smoothed φ, which is larger.
    token_doc_diff : Jensen-Shannon divergence (nats) between the top words' shares by tokens and by documents. High:
        words that are frequent in few documents (burstiness).
    rank_1_docs : share of the topic's documents in which no other topic has more tokens (of equals, the lowest number
        counts). Low: a background topic.
    allocation_ratio : documents with θ_dk ≥ 0.5 per document with θ_dk ≥ 0.02; θ_dk = (n_dk + α_k) / (n_d + Σ α), of
        documents that have the topic.
    allocation_count : share of the topic's documents that have θ_dk ≥ 0.3.
    exclusivity : mean over top words of φ_kv / Σ_l φ_lv, where φ_kv = (n_kv + β) / (n_k + V β).
        ``topicloom.evaluation.exclusivity`` is the same over a φ that is given.
    top_words : tuple of tuples of str
        The top words of each topic, best first.
    words : TopWords
        Their values.
    n_top_words : int
        M as it was asked for.
    intervals : dict of str to Interval, or None
        Mean and limits of each measure over draws, where draws were given.

    Notes
    -----
    In a topic with fewer than M words the missing ones count, as in MALLET's source: as words without letters
    (``word_length`` is the sum of lengths divided by M) that no document has (``coherence``). ``exclusivity`` is
    treated alike, the sum divided by M. The one known difference: MALLET takes missing words for word number 0 in
    ``coherence`` if that is one of the topic's words.

    Where MALLET has 0 / 0, values are 0: all measures of a topic without tokens, and ``allocation_ratio`` of a topic
    that no document has to 2 %. No value is ever NaN or infinite.
    """

    tokens: Int64Array
    document_entropy: FloatArray
    word_length: FloatArray
    coherence: FloatArray
    uniform_dist: FloatArray
    corpus_dist: FloatArray
    eff_num_words: FloatArray
    token_doc_diff: FloatArray
    rank_1_docs: FloatArray
    allocation_ratio: FloatArray
    allocation_count: FloatArray
    exclusivity: FloatArray
    top_words: tuple[tuple[str, ...], ...]
    words: TopWords
    n_top_words: int
    intervals: Mapping[str, Interval] | None = None

    @property
    def n_topics(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        draws = "" if self.intervals is None else ", with intervals"
        return f"TopicDiagnostics({self.n_topics} topics, {self.n_top_words} top words{draws})"

    def _repr_html_(self) -> str:
        return html.topics_html(self)

    # -- tables --------------------------------------------------------------------------------------------------

    def rows(self) -> list[dict[str, Any]]:
        """One dict per topic: its number, the measures, their intervals if there are any, the words in one string.

        Returns
        -------
        list of dict
            Keys are ``topic``, ``MEASURES``, for draws ``<measure>_mean``, ``_lower`` and ``_upper``, and ``words``.
        """
        return _as_rows(self._topic_columns())

    def word_rows(self) -> list[dict[str, Any]]:
        """One dict per topic and rank: ``topic``, ``rank`` (from 1), ``word`` and the values of ``TopWords``."""
        return _as_rows(self._word_columns())

    def topics_frame(self, *, frame: Any = None) -> Any:
        """The rows as a table; ``frame`` is "pandas", "polars", "pyarrow", "rows", or a frame whose kind to follow."""
        return to_frame(self._topic_columns(), frame)

    def words_frame(self, *, frame: Any = None) -> Any:
        """The word rows as a data frame; ``frame`` as of ``topics_frame``."""
        return to_frame(self._word_columns(), frame)

    def _topic_columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {"topic": np.arange(self.n_topics)}
        columns |= {name: getattr(self, name) for name in MEASURES}
        for name, interval in (self.intervals or {}).items():
            columns |= {f"{name}_{field}": values for field, values in interval._asdict().items()}
        return columns | {"words": [" ".join(words) for words in self.top_words]}

    def _word_columns(self) -> dict[str, Any]:
        topic, rank = np.nonzero(self.words.word >= 0)
        values = {name: array[topic, rank] for name, array in self.words._asdict().items() if name != "word"}
        names = [word for words in self.top_words for word in words]
        return {"topic": topic, "rank": rank + 1, "word": names, **values}

    # -- files ---------------------------------------------------------------------------------------------------

    def to_json(self, path: PathLike) -> None:
        """Write all topics as JSON, each with its words' values; gzipped if the name ends in ``.gz``."""
        words = self.word_rows()
        by_topic = iter(words)
        topics = []
        for row, names in zip(self.rows(), self.top_words, strict=True):
            of_topic = [next(by_topic) for _ in names]
            topics.append(row | {"words": [{k: v for k, v in word.items() if k != "topic"} for word in of_topic]})
        with replacing(as_path(path)) as file:
            text = json.dumps({"n_top_words": self.n_top_words, "topics": topics}, ensure_ascii=False, allow_nan=False)
            file.write(text.encode())

    def to_csv(self, path: PathLike, *, words: bool = False) -> None:
        """Write the rows, or with ``words`` the word rows, as CSV; gzipped if the name ends in ``.gz``."""
        columns = self._word_columns() if words else self._topic_columns()
        with replacing(as_path(path)) as file:
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*map(_as_list, columns.values()), strict=True))
            file.write(text.getvalue().encode())

    def to_mallet_xml(self, path: PathLike) -> None:
        """Write the file of MALLET's ``--diagnostics-file``: the same attributes, digits and rounding.

        ``&``, ``<`` and ``>`` in words are escaped, which MALLET leaves out, so that the file is always XML; what XML
        cannot hold becomes U+FFFD.
        """
        with replacing(as_path(path)) as file:
            for part in self._xml():
                file.write(part.encode())

    def _xml(self) -> Iterator[str]:
        yield '<?xml version="1.0" encoding="UTF-8"?>\n<model>\n'
        topics, words = self._topic_columns(), self.words
        scored = [name for name in MEASURES if name in words._fields]
        for k, names in enumerate(self.top_words):
            values = " ".join(f"{_IN_XML.get(name, name)}='{_as_java(topics[name][k], 4)}'" for name in MEASURES)
            lines = [f"<topic id='{k}' {values}>\n"]
            for i, name in enumerate(names):
                text = escape(_NOT_IN_XML.sub("\ufffd", name))
                shares = f"prob='{_as_java(words.prob[k, i], 5)}' cumulative='{_as_java(words.cumulative[k, i], 5)}'"
                scores = (f"{_IN_XML.get(s, s)}='{_as_java(getattr(words, s)[k, i], 4)}'" for s in scored)
                lines.append(
                    f"<word rank='{i + 1}' count='{words.count[k, i]}' {shares} docs='{words.docs[k, i]}' "
                    f"{' '.join(scores)}>{text}</word>\n"
                )
            yield "".join((*lines, "</topic>\n"))
        yield "</model>\n\n"


def topic_diagnostics(
    source: Any,
    n_top_words: int = 20,
    *,
    draws: Any = None,
    level: float = 0.9,
    alpha: Any = None,
    beta: Any = None,
) -> TopicDiagnostics:
    """Twelve measures of every topic, equal to MALLET's on the same assignment of topics.

    Parameters
    ----------
    source : fitted model, (corpus, state, prior), or Assignments
        A fitted model whose chains have a topic per token (its published chain's last state; of several paths, the
        first), what ``topicloom.mallet.read_state`` returns, or plain arrays. Variational models have no such state.
    n_top_words : int, default=20
        Top words per topic, M.
    draws : list, optional
        Several states of *one* chain, whose topics keep their numbers: arrays z, states, chains or (corpus, state,
        prior). Means and intervals over them become ``intervals``; all else is of ``source``. States of several
        chains must first have their topics put into one order: the topics of two chains have nothing to do with each
        other. A sweep changes a state in place, so collect copies.
    level : float, default=0.9
        Probability of the central intervals over draws.
    alpha : float or array of shape (n_topics,), optional
        α of documents. Default: that of the source, or 5 / K if it has none, as in MALLET.
    beta : float or array of shape (n_words,), optional
        β of words. Default: that of the source, or 0.01 if it has none. ``coherence`` takes its mean.

    Returns
    -------
    TopicDiagnostics

    Raises
    ------
    InputError
        If there is no topic per token, or arrays do not fit together.

    Notes
    -----
    Takes two compiled passes over the tokens per state, whatever the number of topics.

    Examples
    --------
    >>> from topicloom.diagnostics.topics import Assignments, topic_diagnostics
    >>> found = topic_diagnostics(
    ...     Assignments(
    ...         words=[0, 1, 0, 2, 3, 2], docs=[0, 0, 1, 1, 2, 2], z=[0, 0, 0, 1, 1, 1], n_topics=2,
    ...         vocabulary=["river", "bank", "loan", "money"],
    ...     ),
    ...     n_top_words=2,
    ... )
    >>> found.top_words
    (('river', 'bank'), ('loan', 'money'))
    >>> found.tokens.tolist(), found.eff_num_words.round(2).tolist()
    ([3, 3], [1.8, 1.8])

    Draws are collected with a callback of ``fit``:

    >>> import topicloom
    >>> corpus = topicloom.from_texts(["river bank river", "loan money bank", "money loan loan"] * 5)
    >>> draws = []
    >>> def collect(chain):
    ...     draws.append(chain.state.z.copy())
    >>> model = topicloom.LDA(2, max_iter=20, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=1)
    >>> model = model.fit(corpus, callbacks=[collect])
    >>> found = topic_diagnostics(model, n_top_words=3, draws=draws[10:])
    >>> found
    TopicDiagnostics(2 topics, 3 top words, with intervals)
    >>> bool(found.intervals["tokens"].mean.sum() == corpus.n_tokens)
    True
    """
    check_whole("n_top_words", n_top_words, 1)
    check_number("level", level, 0.0, 1.0)
    assigned = read_source(source, alpha, beta)
    check_top_words(assigned.prior.n_topics, min(n_top_words, assigned.corpus.n_words))
    intervals = None
    if draws is not None:
        each = [measure(draw, n_top_words)[0] for draw in read_draws(draws, source, assigned, alpha, beta)]
        intervals = {name: draw_interval(np.stack([one[name] for one in each]), level) for name in MEASURES}
    measures, words = measure(assigned, n_top_words)
    vocabulary = assigned.corpus.vocabulary
    names = tuple(tuple(vocabulary[v] for v in row if v >= 0) for row in words.word.tolist())
    return TopicDiagnostics(**measures, top_words=names, words=words, n_top_words=int(n_top_words), intervals=intervals)


# -- tables and files --------------------------------------------------------------------------------------------


def _as_list(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _as_rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*map(_as_list, columns.values()), strict=True)]


def _as_java(value: Any, digits: int) -> str:
    """A number as Java's ``%.4f``: the shortest decimal that is the number, rounded half away from zero."""
    return str(Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
