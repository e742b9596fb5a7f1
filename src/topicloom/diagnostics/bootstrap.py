"""Which topics depend on the documents at hand: a model is fitted again to documents drawn with replacement."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from topicloom._types import FloatArray, Int64Array
from topicloom.corpus._checks import check_choice, check_length, check_number, check_whole, items, shown
from topicloom.corpus.corpus import Corpus, check_corpus
from topicloom.diagnostics import html
from topicloom.diagnostics.alignment import METRICS, Alignment, Metric, align_topics, resolve_threshold
from topicloom.diagnostics.topic_stability import Stability, _wilson
from topicloom.engine.estimator import inputs, parameters, tables
from topicloom.engine.independent import n_at_a_time, run_independent
from topicloom.engine.progress import duration
from topicloom.engine.threads import resolve_jobs
from topicloom.errors import InputError, counted
from topicloom.numerics.rng import Purpose, path_key

__all__ = ["BootstrapStability", "bootstrap_stability"]

_WORDS = 8  # of a topic, to tell it by
_NAMED = 6  # topics in a sentence
_OWN = ("checkpoint_dir", "n_jobs", "random_state", "verbose")  # of the fits, which this function decides on


@dataclass(frozen=True)
class BootstrapStability(Stability):
    """How far a model's topics are found again in other samples of documents. ``str(found)`` says it in words.

    Attributes
    ----------
    share : Interval
        For each topic, the share of bootstrap samples whose fit has it: ``mean``, ``lower``, ``upper``.
    score : float
        Mean share over topics, from 0 to 1.
    score_error : float
        Its standard error over samples.
    similarity : float
        One minus the mean distance of matched topics; NaN if none is matched.
    kinds : tuple of str
        For each topic "stable" if its whole interval lies above ``min_share``, "noise" if it lies below, otherwise
        "unclear".
    top_words : tuple of tuples of str
        The likeliest words of each topic.
    names : tuple of str, or None
        Names of the topics, if the model has any.
    n_samples : int
    min_share, level : float
    alignment : Alignment
        Topics of each sample's fit (rows 1 and up) matched to those of the model (row 0).
    model : fitted model
        The one whose topics are judged.
    """

    score_error: float
    kinds: tuple[str, ...]
    top_words: tuple[tuple[str, ...], ...]
    names: tuple[str, ...] | None
    n_samples: int
    min_share: float
    model: Any

    def _repr_html_(self) -> str:
        return html.bootstrap_html(self)

    @property
    def noise(self) -> list[int]:
        """Numbers of the topics that are noise."""
        return [k for k, kind in enumerate(self.kinds) if kind == "noise"]

    def rows(self) -> list[dict[str, Any]]:
        """One row per topic, for instance for ``pandas.DataFrame``.

        Each has ``topic``, ``share``, ``lower``, ``upper``, ``similarity``, ``kind``, ``name`` and ``words``.
        """
        names = self.names or ("",) * len(self.kinds)
        more = zip(self.kinds, names, self.top_words, strict=True)
        return [
            {**row, "kind": kind, "name": name, "words": " ".join(words)}
            for row, (kind, name, words) in zip(super().rows(), more, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON knows it; what is not known is None."""
        return {
            "text": str(self),
            "score": self.score,
            "score_error": self.score_error,
            "similarity": None if np.isnan(self.similarity) else self.similarity,
            "n_samples": self.n_samples,
            "min_share": self.min_share,
            "level": self.level,
            "noise": self.noise,
            "topics": [{name: None if value != value else value for name, value in row.items()} for row in self.rows()],
        }

    def __str__(self) -> str:
        n = {kind: self.kinds.count(kind) for kind in ("stable", "noise", "unclear")}
        lines = [
            f"{n['stable']} of {counted(len(self.kinds), 'topics')} are stable: more than {self.min_share:.0%} of "
            f"samples of documents like these have them. On average a topic is in {self.score:.0%} of "
            f"{self.n_samples} samples (standard error {self.score_error:.1%})."
        ]
        if n["unclear"]:
            lines.append(f"Of {n['unclear']} this cannot be said from {self.n_samples} samples.")
        if n["noise"]:
            lines.append(f"Noise, which other documents of the same kind would not show: {self._listed_noise()}.")
        return " ".join(lines)

    def _listed_noise(self) -> str:
        def told(k: int) -> str:
            name = self.names[k] if self.names and self.names[k] else " ".join(self.top_words[k][:3])
            return f"topic {k} ({name})"

        more = f" and {len(self.noise) - _NAMED} more" if len(self.noise) > _NAMED else ""
        return ", ".join(map(told, self.noise[:_NAMED])) + more


def bootstrap_stability(
    model: Any,
    corpus: Corpus | None = None,
    *,
    y: Any = None,
    n_samples: int = 20,
    metric: Metric = "hellinger",
    threshold: float | None = None,
    min_share: float = 0.5,
    level: float = 0.95,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
    **changes: Any,
) -> BootstrapStability:
    """For each topic of a model, the share of bootstrap samples of documents whose fit has it, too.

    A bootstrap sample has as many documents as the corpus, drawn with replacement. To each the model is fitted anew,
    with the same parameters and another seed. A topic that most of them lack says more about the documents that happen
    to be in the corpus than about the subject.

    Parameters
    ----------
    model : fitted topic model, or one that is not fitted
        The latter is fitted first, to the whole corpus. Models whose topics are labels are refused: every fit has them.
    corpus : Corpus, optional
        The training documents. None takes those that a fitted model keeps.
    y : sequence, optional
        Targets of the documents, for MedLDA; None takes those of the corpus.
    n_samples : int, default=20
        Bootstrap samples.
    metric : {"hellinger", "jensen_shannon", "cosine", "rbo"}, default="hellinger"
    threshold : float, optional
        A fit has a topic if its match is no further away; by default as in
        :func:`~topicloom.diagnostics.alignment.align`.
    min_share : float, default=0.5
        A topic is stable if its whole interval lies above this share, and noise if it lies below.
    level : float, default=0.95
        Of the intervals.
    n_jobs : int, optional
        Fits at a time, by joblib: threads, unless ``joblib.parallel_config`` says otherwise. None is what that says, or
        1. Within ``topicloom.scale.ray`` each fit is a task of one worker instead. None of it changes any result.
    random_state : int, RandomState or None, default=None
        Seed of the samples; None takes that of a fitted model.
    verbose : int, default=0
        1 prints the estimated time, once the first fit is done.
    **changes
        Parameters of the model to change for the fits, for instance ``n_chains=1`` to save time.

    Returns
    -------
    BootstrapStability

    Raises
    ------
    InputError
        If model, documents or parameters cannot be used.

    See Also
    --------
    topicloom.diagnostics.topic_stability.stability : which topics other chains have, on the same documents.

    Notes
    -----
    Shares vary with the documents and with the random numbers of the fits. Where chains on the same documents disagree,
    as :func:`~topicloom.diagnostics.topic_stability.stability` shows, no sample of documents can agree better.
    Intervals are Wilson's for a proportion of ``n_samples``: with 20 samples a topic is stable from 15 on, and noise up
    to 5. Documents without a single word are not drawn.

    Examples
    --------
    >>> from topicloom import LDA
    >>> from topicloom.datasets import synthetic_lda
    >>> corpus = synthetic_lda(n_docs=100, n_words=50, n_topics=3, doc_length=50).corpus
    >>> model = LDA(3, max_iter=60, random_state=0).fit(corpus)
    >>> found = bootstrap_stability(model, n_samples=10)
    >>> found.kinds
    ('stable', 'stable', 'stable')
    """
    for name, value, least in (("n_samples", n_samples, 2), ("verbose", verbose, 0)):
        check_whole(name, value, least)
    check_choice("metric", metric, METRICS)
    limit = resolve_threshold(metric, threshold)
    for name, share in (("level", level), ("min_share", min_share)):
        if not 0 < check_number(name, share, 0.0, 1.0) < 1:
            raise InputError(f"{name}={share} must lie between 0 and 1.")
    if n_jobs is not None:
        resolve_jobs(n_jobs)
    refitted = _to_refit(model, changes)
    fitted, corpus, y = _whole(model, corpus, y, random_state)
    seed = fitted.seed_ if random_state is None else inputs.draw_seed(random_state)
    samples = _Samples(refitted, corpus, y, seed, np.ascontiguousarray(fitted.topic_word_), metric, limit)
    return _judged(fitted, samples, samples.all(n_samples, n_jobs, bool(verbose)), min_share, level)


@dataclass(frozen=True)
class _Samples:
    """Fits to bootstrap samples. Each depends on nothing but the seed and its number."""

    model: Any
    corpus: Corpus
    y: tuple[Any, ...] | None
    seed: int
    topics: FloatArray  # those that are looked for
    metric: Metric
    threshold: float

    def one(self, number: int) -> tuple[Int64Array, FloatArray, Int64Array]:
        """Topics of one fit that match those looked for, their distances, and the topics that match none."""
        from sklearn.base import clone

        usable = np.flatnonzero(self.corpus.doc_lengths)
        of_documents, of_fit = (int(path_key(self.seed, Purpose.BOOTSTRAP, number, part)) >> 1 for part in (0, 1))
        drawn = np.sort(np.random.default_rng(of_documents).choice(usable, len(usable)))
        own = clone(self.model).set_params(random_state=of_fit)
        own._quiet = True  # a sample of few documents may say too little
        own.fit(self.corpus.select(drawn), *([] if self.y is None else [[self.y[d] for d in drawn]]))
        if own.interrupted_:
            raise KeyboardInterrupt
        found = align_topics([self.topics, np.ascontiguousarray(own.topic_word_)], 0, self.metric, self.threshold)
        return found.matches[1], found.distances[1], found.unmatched[1]

    def all(self, n_samples: int, n_jobs: int | None, verbose: bool) -> list[tuple[Int64Array, FloatArray, Int64Array]]:
        begun, numbers = time.perf_counter(), range(n_samples)
        first = []
        if verbose:
            first = [self.one(0)]
            taken, rounds = time.perf_counter() - begun, -(-(n_samples - 1) // n_at_a_time(n_jobs))
            left = duration(taken * rounds)
            _say(f"the first of {n_samples} fits took {duration(taken)}; the others take about {left}.")
        return first + run_independent(self.one, numbers[len(first) :], n_jobs)


def _judged(
    model: Any, samples: _Samples, fits: Sequence[tuple[Int64Array, FloatArray, Int64Array]], min_share: float,
    level: float,
) -> BootstrapStability:  # fmt: skip
    n_topics = len(samples.topics)
    matches = np.array([np.arange(n_topics), *(fit[0] for fit in fits)])
    distances = np.array([np.zeros(n_topics), *(fit[1] for fit in fits)])
    unmatched = (np.empty(0, np.int64), *(fit[2] for fit in fits))
    found = matches[1:] >= 0
    share = _wilson(found.sum(axis=0), len(fits), level)
    between = distances[1:][found]
    kinds = np.where(share.lower > min_share, "stable", np.where(share.upper < min_share, "noise", "unclear"))
    names = getattr(model, "topic_names_", None)
    return BootstrapStability(
        share=share,
        score=float(share.mean.mean()),
        score_error=float(found.mean(axis=1).std(ddof=1) / np.sqrt(len(fits))),
        similarity=float(1 - between.mean()) if between.size else float("nan"),
        reference=0,
        alignment=Alignment(matches, distances, unmatched, 0, samples.metric, samples.threshold),
        level=level,
        kinds=tuple(kinds.tolist()),
        top_words=tuple(map(tuple, tables.top_words(samples.topics, model.vocabulary_, _WORDS))),
        names=tuple("" if name is None else str(name) for name in names) if names and any(names) else None,
        n_samples=len(fits),
        min_share=min_share,
        model=model,
    )


# -- what is fitted ----------------------------------------------------------------------------------------------


def _to_refit(model: Any, changes: dict[str, Any]) -> Any:
    """The model without what it has learned, as it is fitted to samples."""
    from sklearn.base import clone

    from topicloom.engine.estimator.topics import TopicModel
    from topicloom.labeled.classifier import LabelClassifier

    if not isinstance(model, TopicModel):
        raise InputError(f"model is {shown(model)}; give a topic model of topicloom, for instance LDA(20).")
    if isinstance(model, LabelClassifier):
        raise InputError(f"the topics of {type(model).__name__} are labels, which every fit has; give another model.")
    cls: Any = type(model)
    known = parameters.parameters_of(cls)
    for name in changes:
        if name in _OWN or name not in known:
            names = ", ".join(other for other in known if other not in _OWN)
            raise InputError(f"{name} is not a parameter of {cls.__name__} to change; these are {names}.")
    own = clone(model).set_params(**changes, checkpoint_dir=None, n_jobs=1, verbose=0)
    own._plan(0)
    return own


def _whole(model: Any, corpus: Corpus | None, y: Any, random_state: Any) -> tuple[Any, Corpus, tuple[Any, ...] | None]:
    """The fitted model, its documents, and their targets."""
    fitted = hasattr(model, "seed_")
    if corpus is None and not fitted:
        raise InputError("the model is not fitted; give the corpus to fit it to, or a fitted model.")
    documents: Corpus = model.corpus_ if corpus is None else corpus
    check_corpus(documents)
    if fitted:
        documents = documents.with_vocabulary(model.vocabulary_)
    if np.count_nonzero(documents.doc_lengths) < 2:
        raise InputError("the corpus has fewer than two documents with words; there is nothing to draw samples from.")
    targets = None if y is None else items("y", y)
    if targets is not None:
        check_length("y", len(targets), documents.n_docs, "documents")
    if not fitted:
        from sklearn.base import clone

        seed = inputs.draw_seed(model.random_state if random_state is None else random_state)
        model = clone(model).set_params(random_state=seed)
        model.fit(documents, *([] if targets is None else [list(targets)]))
    return model, documents, targets


def _say(text: str) -> None:
    print(f"bootstrap_stability: {text}", file=sys.stderr, flush=True)
