"""Bounds of log p(words) in the forms that can be asked for: of the training corpus, and of other documents.

Of the training corpus it is eq. 2 of CVB for variational Bayes, and eq. 12 for the collapsed methods, which needs
E[log Γ(prior + n)] of every count: exactly, by the Poisson-binomial distribution; by expansion to the second order; or
with the case n = 0 exactly and the rest by expansion. Of other documents the topics stay where they are: as q(φ) for
variational Bayes, at their mean for the collapsed methods.
"""

from typing import Literal, TypeAlias, cast, get_args

import numpy as np
from scipy.special import gammaln, polygamma

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import check_choice
from topicloom.corpus.corpus import Corpus
from topicloom.engine.prior import Prior
from topicloom.errors import InputError
from topicloom.lda.variational import batch, exact
from topicloom.lda.variational.batch import Mode
from topicloom.lda.variational.bayes import log_norms
from topicloom.lda.variational.state import PairIndex, VariationalState, pair_index, sum_by
from topicloom.numerics.jit import as_input

Form: TypeAlias = Literal["zero", "second_order", "exact"]
FORMS: tuple[str, ...] = get_args(Form)
BAYES = ("vb", "svb")  # whose bound has one form


def check_form(form: Form | None, method: str, corpus: Corpus) -> None:
    """Refuse a form that the method, or a corpus, does not have."""
    if form is None:
        return
    check_choice("form", form, FORMS)
    if method in BAYES:
        raise InputError(f'form={form!r} is for collapsed methods; the bound of method="{method}" has one form.')
    if form == "exact" and corpus.weights is not None:
        raise InputError(
            'form="exact" sums over whole counts, and this corpus has fractional weights; use form="zero", which takes '
            "them."
        )


def training_bound(
    corpus: Corpus, state: VariationalState, mode: str, prior: Prior, form: Form | None, n_jobs: int = 1
) -> float:
    """The bound at a state; without a form the one that a fit records."""
    pairs = pair_index(corpus)
    if form == "exact":
        return batch.bound_exact(pairs, state.gamma, prior)
    if form == "second_order":
        return batch.bound_second_order(pairs, state, prior)
    return batch.bound(pairs, state, "cvb" if form == "zero" else cast(Mode, mode), prior, n_jobs)


def bayes_bound(corpus: Corpus, counts: FloatArray, word: FloatArray, alpha: FloatArray) -> float:
    """Documents' part of eq. 2: E[log p(w, z, θ | φ)] − E[log q(z, θ)].

    ``counts`` are E[n_dk], ``word`` β + E[n_vk].
    """
    topics, doc = batch.exp_topics(np.ascontiguousarray(word), 1), as_input(counts + alpha)
    fit = np.empty(len(doc))
    pairs = pair_index(corpus)
    log_norms(0, len(doc), pairs, topics, doc, fit)
    used = np.diff(pairs.ptr) > 0
    return float(fit.sum()) - batch.dirichlet_divergence(doc[used], alpha)


def collapsed_bound(corpus: Corpus, word_counts: FloatArray, phi: FloatArray, alpha: FloatArray, form: Form) -> float:
    """Documents' part of eq. 12 with fixed φ by word [V, K]; ``word_counts`` are n γ of each pair [M, K]."""
    pairs = pair_index(corpus)
    gamma = word_counts / np.maximum(pairs.count, 1e-300)[:, None]
    gamma[pairs.count <= 0] = 1.0 / gamma.shape[1]
    base = np.tile(alpha, (corpus.n_docs, 1))
    total = _rise(pairs, gamma, base, form)
    lengths = pairs.doc_weight
    total += float(np.sum(gammaln(alpha.sum()) - gammaln(alpha.sum() + lengths)))
    n, some = pairs.count[:, None] * gamma, gamma > 0
    logs = np.log(phi[pairs.word], where=some, out=np.zeros_like(gamma))
    logs -= np.log(gamma, where=some, out=np.zeros_like(gamma))
    return total + float(np.sum(n * logs))


def _rise(pairs: PairIndex, gamma: FloatArray, base: FloatArray, form: Form) -> float:
    """Σ_dk E[log Γ(α_k + n_dk) − log Γ(α_k)]."""
    if form == "exact":
        longest = int(pairs.doc_weight.max(initial=0))
        every = np.arange(len(pairs.word))
        return exact.mean_log_gamma(pairs.ptr, every, pairs.count, gamma, base, np.empty(longest + 2))
    mean = base + _of_documents(pairs, gamma)
    var = _of_documents(pairs, gamma * (1.0 - gamma))
    if form == "second_order":
        return float(np.sum(gammaln(mean) - gammaln(base) + 0.5 * polygamma(1, mean) * var))
    return batch.rise_with_zero(mean, var, _of_documents(pairs, np.log(np.maximum(1.0 - gamma, 1e-300))), base)


def _of_documents(pairs: PairIndex, values: AnyArray) -> FloatArray:
    """Σ n x over the pairs of each document [D, K]."""
    n_docs = len(pairs.ptr) - 1
    return np.stack([sum_by(pairs.doc, pairs.count * column, n_docs) for column in values.T], axis=1)
