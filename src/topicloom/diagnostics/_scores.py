"""Held-out log-likelihoods of models, document by document: what ``comparison`` compares.

A *fit* is topics and a prior of documents. A model is one fit, or several of one kind: its chains, or models that
differ in their random numbers.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus._checks import as_array, check_choice, items, shown
from topicloom.corpus.corpus import Corpus, check_corpus
from topicloom.diagnostics.alignment import chain_topics
from topicloom.diagnostics.annealed import annealed
from topicloom.diagnostics.marginal import Estimate, repeated_left_to_right
from topicloom.errors import InputError, counted
from topicloom.evaluation.predictive import completion_scores
from topicloom.evaluation.topics import check_alpha, check_topics

_EXPECTED = "give a fitted topic model, or a list of them that are fits of one kind"


class Fit(NamedTuple):
    """Topics and the prior of documents; topics without a prior are left out."""

    topics: FloatArray  # [K, V]
    alpha: FloatArray  # [K], or [rows, K]
    rows: Int32Array | None  # [D] each document's row of alpha


class Scored(NamedTuple):
    """A model's scores of each document."""

    by_fit: FloatArray  # [F, D] log-likelihoods
    variance: FloatArray | None  # [D] Monte Carlo variance of their mean over fits; None if it is not known
    ess: float | None  # least effective sample size of any document in any fit
    tokens: Int64Array  # [D] that were scored


# -- what a model is -----------------------------------------------------------------------------------------


def read_corpus(model: Any, held_out: Any) -> Corpus:
    """The documents in the vocabulary of the first model."""
    first = model[0] if isinstance(model, list | tuple) and model else model
    if not isinstance(held_out, Corpus) and hasattr(first, "_new_corpus") and hasattr(first, "seed_"):
        corpus: Corpus = first._new_corpus(held_out)
        return corpus
    check_corpus(held_out)
    words = getattr(first, "vocabulary_", None)
    own: Corpus = held_out
    return own if words is None else own.with_vocabulary(words)


def read_fits(name: str, model: Any, corpus: Corpus) -> list[Fit]:
    """The fits of a model, over the words of the corpus."""
    if isinstance(model, list | tuple):
        if not model:
            raise InputError(f"{name} is an empty list; {_EXPECTED}.")
        return [_read_fit(f"{name}[{f}]", one, corpus) for f, one in enumerate(model)]
    has_chains = hasattr(model, "topic_word_") and hasattr(model, "_word_counts_of")
    if has_chains and len(model.chains_) > 1:
        chains = _chain_fits(name, model, corpus)
        if chains:
            return chains
    return [_read_fit(name, model, corpus)]


def _chain_fits(name: str, model: Any, corpus: Corpus) -> list[Fit]:
    """The chains as fits, if the model is one of its chains; otherwise none.

    A model of labels averages its chains, and one of collections has mixtures for the published chain alone.
    """
    best, topics = model.chains_[model.best_chain_], chain_topics(model)
    alphas = [chain.prior.alpha[0] for chain in model.chains_]
    same = np.array_equal(topics[model.best_chain_], model.topic_word_) and np.array_equal(
        alphas[model.best_chain_], model.alpha_
    )
    if not same or len(best.prior.alpha) != 1:
        return []
    order = _columns(name, model, corpus)
    return [_checked(name, phi[:, order], alpha, None, corpus) for phi, alpha in zip(topics, alphas, strict=True)]


def _read_fit(name: str, model: Any, corpus: Corpus) -> Fit:
    if not hasattr(model, "topic_word_") or not hasattr(model, "alpha_"):
        raise InputError(f"{name} is {shown(model)}, which has no topic_word_ and alpha_; {_EXPECTED}.")
    topics = check_topics(model.topic_word_, name=f"{name}.topic_word_")
    order = _columns(name, model, corpus)
    alpha, rows = model.alpha_, None
    if hasattr(model, "_document_prior"):
        alpha, rows = model._document_prior(corpus)
    return _checked(name, topics[:, order], alpha, rows, corpus)


def _columns(name: str, model: Any, corpus: Corpus) -> Int64Array:
    """Column of the model's topics for each word of the corpus, whose words must be the model's."""
    n = np.shape(model.topic_word_)[1]
    words = getattr(model, "vocabulary_", None)
    if words is None:
        if n != corpus.n_words:
            raise InputError(
                f"{name} has topics over {counted(n, 'words')} and the documents a vocabulary of {corpus.n_words:,}; "
                "both must be the same words."
            )
        return np.arange(n)
    number = {str(word): v for v, word in enumerate(items(f"{name}.vocabulary_", words))}
    own, others = number.keys() - set(corpus.vocabulary), [w for w in corpus.vocabulary if w not in number]
    if own or others or len(number) != n:
        example = others[0] if others else min(own, default="")
        raise InputError(
            f"{name} has another vocabulary: it lacks {counted(len(others), 'words')} of the first model and has "
            f"{len(own):,} that the first lacks, such as {shown(example)}. Words outside a vocabulary are not scored, "
            "so the models would be scored on different tokens. Fit both over one vocabulary: "
            "topicloom.from_texts(texts, vocabulary=a.vocabulary_) or corpus.with_vocabulary(a.vocabulary_)."
        )
    return np.array([number[word] for word in corpus.vocabulary], np.int64)


def _checked(name: str, topics: FloatArray, alpha: Any, rows: Int32Array | None, corpus: Corpus) -> Fit:
    prior: AnyArray = as_array(f"{name}.alpha_", alpha, np.float64)
    if prior.ndim not in (1, 2) or prior.shape[-1] != len(topics):
        raise InputError(
            f"{name}.alpha_ has shape {prior.shape} but there are {len(topics)} topics; give one for each."
        )
    used = (np.atleast_2d(prior) != 0).any(axis=0)  # labels that training never saw have 0
    if not used.any():
        raise InputError(f"{name}.alpha_ is 0 for every topic; at least one must be positive.")
    topics, prior = topics[used], prior[..., used]
    for row in np.atleast_2d(prior):
        check_alpha(row, len(topics))
    impossible = topics.sum(axis=0)[corpus.words] <= 0
    if impossible.any():
        word = corpus.vocabulary[corpus.words[int(np.argmax(impossible))]]
        raise InputError(
            f"{name} gives the word {word!r} probability 0 in every topic, so a document with it has log-likelihood "
            "−∞ and no difference means anything. Fit with a positive topic_word_prior, or leave the word out of the "
            "held-out documents."
        )
    return Fit(topics, prior, rows)


# -- measures ------------------------------------------------------------------------------------------------


def _completion(fit: Fit, corpus: Corpus, seed: int, n_jobs: int, options: Mapping[str, Any]) -> Any:
    return completion_scores(
        fit.topics, fit.alpha, corpus, alpha_row=fit.rows, seed=seed, n_jobs=n_jobs, **{"n_samples": 10, **options}
    )


def _by_rows(
    estimate: Callable[..., Estimate], fit: Fit, corpus: Corpus, seed: int, n_jobs: int, options: Mapping[str, Any]
) -> Estimate:
    """An estimate of one prior, made for each row of several; a document's value does not depend on the others."""
    if fit.rows is None:
        return estimate(fit.topics, fit.alpha, corpus, seed=seed, n_jobs=n_jobs, **options)
    columns = np.zeros((len(Estimate._fields), corpus.n_docs))
    for row in np.unique(fit.rows):
        chosen = np.flatnonzero(fit.rows == row)
        columns[:, chosen] = estimate(
            fit.topics, fit.alpha[row], corpus.select(chosen), seed=seed, n_jobs=n_jobs, **options
        )
    return Estimate(*columns)


_ESTIMATES: dict[str, Callable[..., Estimate]] = {"left_to_right": repeated_left_to_right, "annealed": annealed}
OPTIONS = {
    "completion": ("estimator", "burn_in", "thin", "n_samples", "n_chains", "split"),
    "left_to_right": ("n_runs", "n_particles", "resample"),
    "annealed": ("temperatures", "n_particles"),
}


def check_options(measure: Any, options: Mapping[str, Any]) -> None:
    check_choice("measure", measure, list(OPTIONS))
    for name in options:
        if name not in OPTIONS[measure]:
            raise InputError(
                f"{name} is no option of measure={measure!r}; its options are {', '.join(OPTIONS[measure])}."
            )


def score(
    name: str, fits: list[Fit], corpus: Corpus, measure: str, seed: int, n_jobs: int, options: Mapping[str, Any]
) -> Scored:
    """Score each document by each fit."""
    if measure == "completion":
        found = [_completion(fit, corpus, seed, n_jobs, options) for fit in fits]
        return Scored(np.array([one.log_likelihood for one in found]), None, None, found[0].tokens)
    estimates = [_by_rows(_ESTIMATES[measure], fit, corpus, seed, n_jobs, options) for fit in fits]
    by_fit = np.array([one.log_p for one in estimates])
    if not np.all(np.isfinite(by_fit)):
        d = int(np.argmax(~np.isfinite(by_fit).all(axis=0)))
        raise InputError(
            f"{name}: every particle of document {d} has weight 0, so there is no estimate; give more temperatures or "
            "particles."
        )
    variance = np.mean([one.error**2 for one in estimates], axis=0) / len(fits)
    filled = corpus.doc_lengths > 0
    ess = min(float(one.ess[filled].min(initial=np.inf)) for one in estimates)
    return Scored(by_fit, variance, ess, corpus.doc_lengths)
