"""Which model predicts held-out documents better, by how much per token, and how sure that is."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from topicloom._types import FloatArray, Int64Array
from topicloom.corpus._checks import check_seed, items, shown
from topicloom.diagnostics import html
from topicloom.diagnostics._scores import OPTIONS, Scored, check_options, read_corpus, read_fits, score
from topicloom.errors import InputError, counted

__all__ = ["MEASURES", "Comparison", "Difference", "compare", "compare_all"]

Measure: TypeAlias = Literal["completion", "left_to_right", "annealed"]
MEASURES = tuple(OPTIONS)
_CLEAR = 2.0  # standard errors that a difference must have


@dataclass(frozen=True, eq=False)
class Difference:
    """Held-out log-likelihood of model a minus that of model b, in nats per token.

    Attributes
    ----------
    a, b : str
        Names of the models.
    measure : {"completion", "left_to_right", "annealed"}
    value : float
        The difference x. Above 0, a predicts better. exp(−x) is the ratio of their perplexities.
    error : float
        Its standard error y: √(documents_error² + fits_error²).
    documents_error : float
        From the documents, paired. The Monte Carlo error of each document's score is part of it.
    fits_error : float
        From the variation between fits of one model (chains); 0 if each model is a single fit.
    monte_carlo_error : float
        How far the value would vary if the same fits scored the same documents with other random numbers. NaN for
        "completion", where it is not known apart. It is contained in ``documents_error`` and not added again.
    n_fits : (int, int)
        Fits of a and of b.
    by_document : array [D]
        Difference of each document, in nats.
    tokens : array [D]
        Tokens of each document that were scored.
    """

    a: str
    b: str
    measure: Measure
    value: float
    error: float
    documents_error: float
    fits_error: float
    monte_carlo_error: float
    n_fits: tuple[int, int]
    by_document: FloatArray
    tokens: Int64Array

    @property
    def clear(self) -> bool:
        """Whether the models can be told apart: the difference is at least twice its standard error, and not 0."""
        return self.value != 0 and abs(self.value) >= _CLEAR * self.error

    @property
    def verdict(self) -> str:
        """The result in a sentence."""
        if not self.clear:
            return f"{self.a} and {self.b} cannot be told apart: {_shown(self.value, self.error)} nats per token"
        ahead, behind = (self.a, self.b) if self.value > 0 else (self.b, self.a)
        return f"{ahead} beats {behind} by {_shown(abs(self.value), self.error)} nats per token"

    def __str__(self) -> str:
        return self.verdict

    def _repr_html_(self) -> str:
        sizes = len(self.tokens), int(self.tokens.sum())
        return html.difference_html(self.verdict, self.value, self.error, self.clear, *sizes)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Held-out scores of several models on the same documents.

    Attributes
    ----------
    names : tuple of str
        The models, as they were given.
    measure : {"completion", "left_to_right", "annealed"}
    scores : tuple of Scored
        Of each model, the score of each document by each fit.
    n_unknown : int
        Tokens of the documents that are in no model's vocabulary, and were not scored.
    """

    names: tuple[str, ...]
    measure: Measure
    scores: tuple[Scored, ...]
    n_unknown: int

    @property
    def tokens(self) -> Int64Array:
        """Tokens of each document that were scored."""
        return self.scores[0].tokens

    @property
    def per_token(self) -> FloatArray:
        """Log-likelihood per token of each model, the mean over its fits."""
        total = np.array([one.by_fit.mean(axis=0).sum() for one in self.scores])
        return np.asarray(total / self.tokens.sum())

    @property
    def best(self) -> str:
        """The model with the highest score; of equals, the first."""
        return self.names[int(self.per_token.argmax())]

    def _repr_html_(self) -> str:
        return html.comparison_html(self)

    def difference(self, a: str, b: str) -> Difference:
        """Score of model ``a`` minus that of model ``b``."""
        first, second = (self.scores[self._number(name)] for name in (a, b))
        n = float(self.tokens.sum())
        by_document = first.by_fit.mean(axis=0) - second.by_fit.mean(axis=0)
        value = float(by_document.sum()) / n
        documents = ratio_error(by_document, self.tokens)
        fits = 0.0 if a == b else math.hypot(_fits_error(first, n), _fits_error(second, n))
        known = first.variance is not None and second.variance is not None
        noise = float(np.sum(first.variance + second.variance)) ** 0.5 / n if known else math.nan  # type: ignore[operator]
        counts = (len(first.by_fit), len(second.by_fit))
        return Difference(
            a, b, self.measure, value, math.hypot(documents, fits), documents, fits, 0.0 if a == b else noise, counts,
            by_document, self.tokens,
        )  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """One row for each model, best first, for instance for ``pandas.DataFrame``.

        Each has ``model``, ``per_token`` (log-likelihood per token), ``perplexity``, ``n_fits``, the ``difference`` to
        the best model (0 or below), its ``error``, ``documents_error``, ``fits_error`` and ``monte_carlo_error``, the
        least effective sample size ``ess`` (None for "completion"), and the ``verdict``: "best", "worse" or "cannot be
        told apart".
        """
        per_token, best, rows = self.per_token, self.best, []
        for m in np.argsort(-per_token, kind="stable").tolist():
            found = self.difference(self.names[m], best)
            verdict = "best" if self.names[m] == best else "worse" if found.clear else "cannot be told apart"
            rows.append(
                {
                    "model": self.names[m],
                    "per_token": float(per_token[m]),
                    "perplexity": float(np.exp(-per_token[m])),
                    "n_fits": found.n_fits[0],
                    "difference": found.value,
                    "error": found.error,
                    "documents_error": found.documents_error,
                    "fits_error": found.fits_error,
                    "monte_carlo_error": found.monte_carlo_error,
                    "ess": self.scores[m].ess,
                    "verdict": verdict,
                }
            )
        return rows

    def _number(self, name: str) -> int:
        if name not in self.names:
            raise InputError(f"{shown(name)} is none of the models; choose among {', '.join(map(repr, self.names))}.")
        return self.names.index(name)


def compare(
    a: Any,
    b: Any,
    held_out: Any,
    measure: Measure = "completion",
    *,
    names: tuple[str, str] = ("A", "B"),
    seed: int = 0,
    n_jobs: int = 1,
    **options: Any,
) -> Difference:
    """Held-out difference between two fitted models, paired over documents: a beats b by x ± y per token.

    Parameters
    ----------
    a, b : fitted models, or lists of them
        Anything with ``topic_word_`` and ``alpha_``: LDA, VariationalLDA, CompoundLDA, models of labels, MedLDA. Both
        must have the same words. A list holds fits of one kind that differ in their random numbers. The chains of an
        LDA, VariationalLDA or MedLDA are such fits, too, and all are scored; other models are scored as published.
    held_out : Corpus, texts or matrix
        Documents that neither model was fitted on, as ``a.perplexity`` takes them.
    measure : {"completion", "left_to_right", "annealed"}, default="completion"
        "completion" is the log-likelihood of the second half of each document, θ estimated from its first half.
        "left_to_right" and "annealed" estimate log p(w_d | φ, α), with θ integrated out, in two ways that check each
        other; "left_to_right" has less error as a rule.
    names : pair of str, default=("A", "B")
        What the verdict calls the models.
    seed : int, default=0
        All models meet the same random numbers.
    n_jobs : int, default=1
        Threads; −1 uses every core. They change no result.
    **options
        Of the measure. "completion": ``estimator``, ``burn_in``, ``thin``, ``n_samples`` (10), ``n_chains``, ``split``
        of :func:`~topicloom.evaluation.completion_scores`. "left_to_right": ``n_runs`` (8), ``n_particles`` (20),
        ``resample`` of :func:`~topicloom.diagnostics.marginal.repeated_left_to_right`. "annealed": ``temperatures``
        (1000), ``n_particles`` (20) of :func:`~topicloom.diagnostics.annealed.annealed`.

    Returns
    -------
    Difference
        ``value`` ± ``error``, and a ``verdict`` in words: models cannot be told apart if the value, without its
        sign, is less than twice the error.

    Raises
    ------
    InputError
        Among others if the models have different vocabularies, or give a word of the documents probability 0.

    See Also
    --------
    compare_all : several models at once.

    Notes
    -----
    With Δ_d the difference of document d in nats and N_d its scored tokens, the value is the ratio x = Σ Δ_d / Σ N_d,
    and its standard error over D documents that of a ratio estimator,

        documents_error = √( D/(D − 1) · Σ_d (Δ_d − x N_d)² ) / Σ_d N_d.

    It takes the documents to be drawn independently: documents in groups (pages of one book) vary together, and the
    error is then too small. The Monte Carlo error of the scores is independent between documents, so that the spread
    of Δ_d contains it, and it is not added a second time; ``monte_carlo_error`` tells how large it is alone.

    A model of F fits has in each document the mean of their scores. With t_f the score per token of fit f, and s² the
    variance of t_f over fits, s²/F is added for each model that has two fits or more:

        error = √( documents_error² + s_a²/F_a + s_b²/F_b ).

    So the value speaks of a fit like these, not of the one that was published. Of a single fit the variation is not
    known, and the error is that of the one fit that there is. With two or three fits s is itself uncertain.

    All models are treated alike: fold-in by Gibbs sampling with fixed topics, whatever they were fitted with.
    Dependency-LDA is scored with ``alpha_`` and not with an α for each document.

    Examples
    --------
    >>> from topicloom import LDA
    >>> from topicloom.corpus import split_documents
    >>> from topicloom.datasets import synthetic_lda
    >>> train, test = split_documents(synthetic_lda(n_docs=200, n_words=50, n_topics=5, seed=0).corpus)
    >>> five = LDA(5, max_iter=50, random_state=0).fit(train)
    >>> one = LDA(1, max_iter=50, random_state=0).fit(train)
    >>> found = compare(five, one, test, names=("five topics", "one topic"))
    >>> found.clear
    True
    >>> found.verdict.split(" by ")[0]
    'five topics beats one topic'
    """
    named = items("names", names)
    if len(named) != 2:
        raise InputError(f"names is {shown(names)}; give two of them.")
    models = _named(named, (a, b))
    found = compare_all(models, held_out, measure, seed=seed, n_jobs=n_jobs, **options)
    return found.difference(*found.names)


def compare_all(
    models: Mapping[str, Any],
    held_out: Any,
    measure: Measure = "completion",
    *,
    seed: int = 0,
    n_jobs: int = 1,
    **options: Any,
) -> Comparison:
    """Held-out scores of several models, and their differences to the best.

    Parameters
    ----------
    models : dict
        Name to model, or to a list of fits, as in :func:`compare`. At least two.
    held_out, measure, seed, n_jobs, **options
        As in :func:`compare`. Texts are cut as by the first model.

    Returns
    -------
    Comparison
        ``rows()`` is the table, best first; ``difference(a, b)`` compares any two.

    Notes
    -----
    The best is chosen on the same documents. Of many models that are alike, the best is ahead by chance: twice the
    error is then easily reached. Score the chosen one and its nearest rival again on other documents if it matters.

    Examples
    --------
    >>> from topicloom import LDA
    >>> from topicloom.corpus import split_documents
    >>> from topicloom.datasets import synthetic_lda
    >>> train, test = split_documents(synthetic_lda(n_docs=200, n_words=50, n_topics=5, seed=0).corpus)
    >>> models = {str(k): LDA(k, max_iter=50, random_state=0).fit(train) for k in (1, 2, 5)}
    >>> found = compare_all(models, test)
    >>> found.best
    '5'
    >>> [(row["model"], row["verdict"]) for row in found.rows()]
    [('5', 'best'), ('2', 'worse'), ('1', 'worse')]
    """
    if not isinstance(models, Mapping) or len(models) < 2:
        raise InputError(f"models is {shown(models)}; give at least two as a dict, {{'name': model, …}}.")
    given = _named(tuple(models), tuple(models.values()))
    check_options(measure, options)
    check_seed(seed)
    corpus = read_corpus(next(iter(given.values())), held_out)
    fits = {name: read_fits(name, model, corpus) for name, model in given.items()}
    scores = tuple(score(name, of, corpus, measure, int(seed), n_jobs, options) for name, of in fits.items())
    scored = int((scores[0].tokens > 0).sum())
    if scored < 2:
        raise InputError(
            f"{counted(scored, 'documents')} of {corpus.n_docs} can be scored; a standard error needs at least 2. By "
            "completion a document needs two known words."
        )
    unknown = 0 if corpus.unknown is None else int(corpus.unknown.sum())
    return Comparison(tuple(given), measure, scores, unknown)


def ratio_error(differences: FloatArray, tokens: Int64Array) -> float:
    """Standard error of Σ differences / Σ tokens over documents, as a ratio estimator; empty documents do not count.

    Examples
    --------
    >>> import numpy as np
    >>> round(ratio_error(np.array([1.0, 3.0, 0.0]), np.array([10, 10, 0])), 4)
    0.1
    """
    used = tokens > 0
    n, size = int(used.sum()), float(tokens.sum())
    left = differences[used] - differences[used].sum() / size * tokens[used]
    return float(np.sqrt(n / (n - 1) * (left**2).sum()) / size)


def _fits_error(scored: Scored, n_tokens: float) -> float:
    """Standard error of a model's score per token over its fits; 0 for a single fit, of which nothing is known."""
    n = len(scored.by_fit)
    return 0.0 if n == 1 else float((scored.by_fit.sum(axis=1) / n_tokens).std(ddof=1)) / n**0.5


def _named(names: tuple[Any, ...], models: tuple[Any, ...]) -> dict[str, Any]:
    for name in names:
        if not isinstance(name, str) or not name:
            raise InputError(f"a model's name is {shown(name)}; each must be a string with something in it.")
    if len(set(names)) != len(names):
        raise InputError(f"the names {', '.join(map(repr, names))} are not all different; give each model its own.")
    return dict(zip(names, models, strict=True))


def _shown(value: float, error: float) -> str:
    """Value and error with two digits of the error, as far as they are there."""
    digits = 4 if not error > 0 else min(max(4, 1 - math.floor(math.log10(error))), 10)
    return f"{value:.{digits}f} ± {error:.{digits}f}"
