"""Explanations: which words of a document speak for a topic, a label or a class, and which speak against it.

What a model says of a document is a sum over its words: θ_k of a topic, a label's score, a class's value, a predicted
number. The parts come from the same γ or samples as ``transform``, ``decision_function`` and ``predict``, word by word.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from topicloom._types import FloatArray, Int32Array
from topicloom.corpus._checks import check_whole, items, shown
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.frames import to_frame
from topicloom.corpus.places import places
from topicloom.engine import word_topics
from topicloom.engine.estimator.names import Names, Topic
from topicloom.engine.expected_counts import expected_word_counts
from topicloom.engine.threads import threads_for
from topicloom.errors import InputError

_ENTRIES = 1 << 22  # distinct words × topics of the documents that are explained together


@dataclass(frozen=True)
class Target:
    """What words can speak for."""

    name: Any  # a topic's number, a label or a class
    column: int  # of ``Parts``
    sign: float = 1.0  # −1 of the first of two classes, for which the negative values are


@dataclass(frozen=True, eq=False)
class Parts:
    """What each distinct word of each document adds to the values of a model, and what is there without words."""

    word: FloatArray  # [M, C], in the order of ``corpus.pairs``
    rest: FloatArray  # [D, C]

    def scaled(self, corpus: Corpus, values: FloatArray, sums: FloatArray) -> "Parts":
        """Other values [D, C], divided among words as these are, which add up to ``sums``."""
        scale = np.divide(values, sums, out=np.zeros_like(values), where=sums > 0)
        return Parts(self.word * np.repeat(scale, np.diff(corpus.pairs.ptr), axis=0), self.rest * scale)


@dataclass(frozen=True, eq=False)
class Explained:
    """One document: its distinct words and what they add to the values of some targets."""

    row: int  # in its corpus
    id: str
    targets: list[Target]
    values: FloatArray  # [T] what the model says
    rest: FloatArray  # [T] the part that comes from no word
    words: list[str]
    counts: FloatArray  # [m]
    added: FloatArray  # [m, T]

    def order(self, target: int, top: int | None) -> list[int]:
        """The words that add most, then those that take most, the most last; at most ``top`` of each."""
        added = self.added[:, target]
        ranked = np.argsort(-added, kind="stable")
        if top is None:
            return [int(i) for i in ranked]
        toward, away = ranked[added[ranked] > 0][:top], ranked[added[ranked] < 0]
        return [int(i) for i in (*toward, *away[max(len(away) - top, 0) :])]


def parts_of_shares(corpus: Corpus, topics: FloatArray, alpha: FloatArray) -> Parts:
    """Of (counts + α), normalised: ``topics`` [M, K] has the counts by distinct word, α is [K] or [D, K]."""
    ptr = corpus.pairs.ptr
    total = (word_topics.sums_of_documents(ptr, topics) + alpha).sum(axis=1, keepdims=True)
    return Parts(topics / np.repeat(total, np.diff(ptr), axis=0), alpha / total)


class ExplainedTopics:
    """The part of a topic model that explains what it says of documents."""

    _LABELS: str | None = None  # what the model predicts, in the name of a column

    seed_: int
    alpha_: FloatArray
    n_jobs: int | None
    topic_names_: Names

    # -- what a model brings -------------------------------------------------------------------------------------

    def _label_targets(self) -> list[Target]:
        """Labels or classes."""
        return []

    def _label_parts(self, corpus: Corpus) -> Parts:
        raise NotImplementedError

    def _topic_parts(self, corpus: Corpus) -> Parts:
        """Of θ, as ``transform`` gives it."""
        alpha, rows = self._document_prior(corpus)  # type: ignore[attr-defined]  # a topic model has one
        return parts_of_shares(corpus, self._word_topics(corpus), alpha if rows is None else alpha[rows])

    def _word_topics(self, corpus: Corpus) -> FloatArray:
        """Expected topic counts [M, K] of the distinct words of documents; they add up to those of ``_fold``."""
        alpha, rows = self._document_prior(corpus)  # type: ignore[attr-defined]
        return self._expected_word_topics(corpus, self._phi_by_word, alpha, rows, self.seed_)  # type: ignore[attr-defined]

    def _expected_word_topics(
        self, corpus: Corpus, phi_by_word: FloatArray, alpha: FloatArray, rows: Int32Array | None, seed: int
    ) -> FloatArray:
        """As ``_expected_counts``, from the same γ or samples, by distinct word."""
        how, n_jobs = self._prediction(), threads_for(self.n_jobs)  # type: ignore[attr-defined]  # a topic model's
        if how.method == "cvb0":
            return expected_word_counts(
                corpus, phi_by_word, alpha, alpha_row=rows, tol=how.tol, max_iter=how.max_iter, n_jobs=n_jobs
            )
        return word_topics.sample_word_topics(
            corpus, phi_by_word, alpha, alpha_row=rows, burn_in=how.burn_in, thin=how.thin, n_samples=how.n_samples,
            n_chains=how.n_chains, seed=seed, n_jobs=n_jobs, soft=how.estimator == "cgs_p",
        )  # fmt: skip

    # -- what it tells -------------------------------------------------------------------------------------------

    def explain(
        self, X: Any, *, topics: Topic | Iterable[Topic] | None = None, labels: Any = None, n_best: int | None = 3,
        top: int | None = 10, frame: str | None = None,
    ) -> Any:  # fmt: skip
        """The words of documents that speak for and against topics, labels or classes.

        What a word contributes is its part of what the model says: of θ (``transform``) for topics, of
        ``decision_function`` for labels and classes, of ``predict`` for numbers. With ``top=None`` the contributions of
        a document and ``rest`` add up to ``value``, which is that number. A document's rows depend neither on the
        others in ``X`` nor on ``n_jobs``.

        Parameters
        ----------
        X : Corpus, documents × words counts or texts
            As of ``transform``.
        topics : int, str or list of them, optional
            Topics to explain, by number or name.
        labels : label, class or list of them, optional
            Labels or classes to explain, by name or number, of a model that has some.
        n_best : int, default=3
            If neither is given: how many labels or classes, or topics of a model that has none, with the largest
            values of each document. None takes all. Of two classes it is the predicted one.
        top : int, default=10
            Words for, and as many against. None takes all words.
        frame : {"pandas", "polars", "pyarrow", "rows"}, default=None
            Kind of table. None takes the first of them that is installed.

        Returns
        -------
        frame
            A row per document, target and word: ``document`` (row of ``X``), ``id``; ``topic`` (and ``name`` if topics
            have names), ``label`` or ``class``; ``word``, ``count``, ``contribution``, ``rest`` (what comes from the
            prior or an intercept), ``value``. Words that add most come first, and those that take most last. Where no
            word is known or none contributes there is one row, whose ``word`` is None.

        Examples
        --------
        >>> from topicloom import LabeledLDA
        >>> model = LabeledLDA(max_iter=40, burn_in=20, random_state=0)
        >>> model = model.fit(["goal match team", "vote law party"] * 20, [["sport"], ["state"]] * 20)
        >>> model.explain(["team law match"], labels="sport", top=2, frame="pandas")["word"].tolist()
        ['team', 'match']
        """
        check_is_fitted(self, "seed_")
        asked, corpus = ask(self, topics, labels, n_best, top), self._corpus_to_explain(X)
        return to_frame(word_columns(self, asked, explained(self, corpus, asked)), frame)

    def explain_tokens(
        self, X: Any, *, topics: Topic | Iterable[Topic] | None = None, labels: Any = None, n_best: int | None = 3,
        frame: str | None = None,
    ) -> Any:  # fmt: skip
        """The known words of documents in the order of the text, with what each occurrence contributes.

        A word's contribution is shared equally by its occurrences: to a topic model they are exchangeable.

        Parameters
        ----------
        X : Corpus or texts
            Of which the order of words is known.
        topics, labels, n_best, frame
            As of ``explain``.

        Returns
        -------
        frame
            A row per document, target and token: ``document``, ``id``, target, ``token`` (from 0), ``start`` and
            ``end`` (characters of the text, −1 where the text or the place is not known), ``word``, ``contribution``.

        Examples
        --------
        >>> from topicloom import LabeledLDA
        >>> model = LabeledLDA(max_iter=40, burn_in=20, random_state=0)
        >>> model = model.fit(["goal match team", "vote law party"] * 20, [["sport"], ["state"]] * 20)
        >>> tokens = model.explain_tokens(["A match! A team!"], labels="sport", frame="pandas")
        >>> tokens[["start", "end", "word"]].values.tolist()
        [[2, 7, 'match'], [11, 15, 'team']]
        """
        check_is_fitted(self, "seed_")
        asked, corpus = ask(self, topics, labels, n_best), self._corpus_to_explain(X)
        return to_frame(token_columns(self, asked, corpus, explained(self, corpus, asked)), frame)

    def _corpus_to_explain(self, X: Any) -> Corpus:
        """Documents with their texts, where these are given."""
        corpus: Corpus = self._new_corpus(X)  # type: ignore[attr-defined]
        if corpus.texts is None and isinstance(X, list | tuple) and all(isinstance(text, str) for text in X):
            corpus = corpus.with_metadata(texts=X)
        return corpus


# -- what to explain -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """What to explain."""

    by_label: bool  # parts of labels' values, and otherwise of θ
    targets: list[Target] | None  # None: each document's best
    n_best: int | None
    top: int | None


def ask(model: Any, topics: Any, labels: Any, n_best: int | None, top: int | None = None) -> Asked:
    """The arguments of ``explain``, checked."""
    for name, value in (("n_best", n_best), ("top", top)):
        if value is not None:
            check_whole(name, value, 1)
    if topics is not None and labels is not None:
        raise InputError("give topics or labels, one of them: what words contribute to are different numbers.")
    if labels is not None:
        if not model._label_targets() or model._LABELS == "response":
            raise InputError(
                f"labels={shown(labels)}: {type(model).__name__} predicts no labels or classes; leave it out."
            )
        found = [_label(model, one) for one in _listed("labels", labels)]
        return Asked(True, list(dict.fromkeys(found)), n_best, top)
    if topics is not None:
        numbers = dict.fromkeys(model._topic_number(one) for one in _listed("topics", topics))
        return Asked(False, [Target(k, k) for k in numbers], n_best, top)
    return Asked(bool(model._label_targets()), None, n_best, top)


def _listed(name: str, given: Any) -> list[Any]:
    single = isinstance(given, str | bytes) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0
    found = [given] if single else list(items(name, given))
    if not found:
        raise InputError(f"{name} is empty; name at least one, or leave it out for the best of each document.")
    return found


def _label(model: Any, given: Any) -> Target:
    """A label or class by its name, or by its number if names are no numbers."""
    targets: list[Target] = model._label_targets()
    plain = isinstance(given, str | int | float | np.integer | np.bool_)
    for target in targets if plain else ():
        if target.name == given or str(target.name) == given:
            return target
    numbered = isinstance(targets[0].name, str) and isinstance(given, int | np.integer) and not isinstance(given, bool)
    if numbered and 0 <= given < len(targets):
        return targets[int(given)]
    names = ", ".join(repr(target.name) for target in targets[:20]) + (", …" if len(targets) > 20 else "")
    raise InputError(f"labels: {shown(given)} is no {model._LABELS} of this model; there are {names}.")


# -- documents -------------------------------------------------------------------------------------------------------


def explained(model: Any, corpus: Corpus, asked: Asked) -> Iterator[Explained]:
    """Each document with its targets. Some are explained at a time, so that memory stays small."""
    every = model._label_targets() if asked.by_label else [Target(k, k) for k in range(model._n_features_out)]
    parts_of = model._label_parts if asked.by_label else model._topic_parts
    for first, last in _batches(corpus, model._n_features_out):
        batch = corpus if (first, last) == (0, corpus.n_docs) else corpus.select(np.arange(first, last))
        parts, pairs = parts_of(batch), batch.pairs
        values = word_topics.sums_of_documents(pairs.ptr, parts.word) + parts.rest
        for d in range(batch.n_docs):
            own = _best(values[d], every, asked.n_best) if asked.targets is None else asked.targets
            columns, signs = [t.column for t in own], np.array([t.sign for t in own])
            rows = slice(int(pairs.ptr[d]), int(pairs.ptr[d + 1]))
            yield Explained(
                first + d, str(first + d) if corpus.ids is None else corpus.ids[first + d], own,
                values[d, columns] * signs, parts.rest[d, columns] * signs,
                [corpus.vocabulary[v] for v in pairs.word[rows]], pairs.count[rows],
                parts.word[rows][:, columns] * signs,
            )  # fmt: skip


def _batches(corpus: Corpus, n_topics: int) -> Iterator[tuple[int, int]]:
    ptr, first = corpus.pairs.ptr, 0
    while first < corpus.n_docs:
        most = int(ptr[first]) + max(_ENTRIES // n_topics, 1)
        last = max(int(np.searchsorted(ptr, most, side="right")) - 1, first + 1)
        yield first, last
        first = last


def _best(values: FloatArray, every: list[Target], n_best: int | None) -> list[Target]:
    """The targets with the largest values, largest first. Two classes share one column, of which one is for each."""
    if n_best is None:
        return every
    own = np.array([values[target.column] * target.sign for target in every])
    n = min(n_best, len({target.column for target in every}))
    return [every[int(i)] for i in np.argsort(-own, kind="stable")[:n]]


# -- tables ----------------------------------------------------------------------------------------------------------


def _target_columns(model: Any, asked: Asked, targets: list[Target]) -> dict[str, list[Any]]:
    if asked.by_label:
        return {} if model._LABELS == "response" else {model._LABELS: [target.name for target in targets]}
    names = model.topic_names_
    named = {"name": [names[target.column] or "" for target in targets]} if any(names) else {}
    return {"topic": [target.name for target in targets], **named}


def word_columns(model: Any, asked: Asked, documents: Iterable[Explained]) -> dict[str, list[Any]]:
    """The columns of ``explain``."""
    rows: list[tuple[Any, ...]] = []
    targets: list[Target] = []
    for one in documents:
        whole = bool(np.all(one.counts == np.floor(one.counts)))
        for t, target in enumerate(one.targets):
            fixed = float(one.rest[t]), float(one.values[t])
            order = one.order(t, asked.top)
            for i in order:
                count = int(one.counts[i]) if whole else float(one.counts[i])
                rows.append((one.row, one.id, one.words[i], count, float(one.added[i, t]), *fixed))
            if not order:
                rows.append((one.row, one.id, None, 0, 0.0, *fixed))
            targets += [target] * max(len(order), 1)
    document, ids, *others = map(list, zip(*rows, strict=True))
    names = ("word", "count", "contribution", "rest", "value")
    own = _target_columns(model, asked, targets)
    return {"document": document, "id": ids, **own, **dict(zip(names, others, strict=True))}


# -- tokens ----------------------------------------------------------------------------------------------------------


def tokens_in_order(corpus: Corpus, d: int) -> list[tuple[int, int, str]]:
    """The known words of a document in the order of its text: where each starts and ends, −1 if that is not known."""
    words = [corpus.vocabulary[v] for v in corpus.words[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]]]
    if corpus.texts is not None:
        left: dict[str, int] = {}
        for word in words:
            left[word] = left.get(word, 0) + 1
        found = []
        for place in places(corpus.texts[d], corpus.text_options):
            if left.get(place.word, 0) > 0:
                left[place.word] -= 1
                found.append((place.start, place.end, place.word))
        if len(found) == len(words):
            return found
    if not corpus.ordered:
        raise InputError(
            "the order of the words is not known: X has counts alone. Give texts, or use explain, which needs no order."
        )
    return [(-1, -1, word) for word in words]


def token_columns(model: Any, asked: Asked, corpus: Corpus, documents: Iterable[Explained]) -> dict[str, list[Any]]:
    """The columns of ``explain_tokens``."""
    names = ("document", "id", "token", "start", "end", "word", "contribution")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    targets: list[Target] = []
    if corpus.weights is not None:
        raise InputError("X has fractional weights, which are no tokens; use explain.")
    for one in documents:
        tokens, number = tokens_in_order(corpus, one.row), {word: i for i, word in enumerate(one.words)}
        for t, target in enumerate(one.targets):
            for at, (start, end, word) in enumerate(tokens):
                added = float(one.added[number[word], t] / one.counts[number[word]])
                for name, value in zip(names, (one.row, one.id, at, start, end, word, added), strict=True):
                    columns[name].append(value)
            targets += [target] * len(tokens)
    own = _target_columns(model, asked, targets)
    rest = {name: columns[name] for name in names[2:]}
    return {"document": columns["document"], "id": columns["id"], **own, **rest}
