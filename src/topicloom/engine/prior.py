"""Dirichlet parameters, in the one form that every sampler takes."""

from typing import NamedTuple

import numpy as np

from topicloom._types import FloatArray, Int32Array
from topicloom.numerics.jit import as_input


class Prior(NamedTuple):
    """Dirichlet parameters, in the one form that every kernel takes.

    Document d has α = ``alpha[alpha_row[d]]``: one row for LDA, one per collection for models with groups. Word v has
    β = ``beta[v]`` in every topic, plus ``boost[boost_row[v]]`` by topic if it is a seed word (row −1: it is not).
    """

    alpha: FloatArray  # [rows, K]
    alpha_row: Int32Array  # [D]
    beta: FloatArray  # [V]
    beta_sum: FloatArray  # [K], over words, boosts included
    boost_row: Int32Array  # [V]
    boost: FloatArray  # [seeded words, K]

    @property
    def n_topics(self) -> int:
        return int(self.alpha.shape[1])


def make_prior(
    alpha: FloatArray,
    beta: FloatArray,
    n_docs: int,
    boosts: dict[int, FloatArray] | None = None,
    alpha_row: Int32Array | None = None,
) -> Prior:
    """Prior from α (K or rows × K), β (V) and, for seed words, what is added to β by topic."""
    alpha = np.ascontiguousarray(np.atleast_2d(alpha), np.float64)
    beta = np.ascontiguousarray(beta, np.float64)
    n_topics = alpha.shape[1]
    boost_row = np.full(len(beta), -1, np.int32)
    boost = np.zeros((len(boosts or {}), n_topics))
    for row, (word, by_topic) in enumerate((boosts or {}).items()):
        boost_row[word] = row
        boost[row] = by_topic
    return Prior(
        alpha=alpha,
        alpha_row=np.zeros(n_docs, np.int32) if alpha_row is None else np.ascontiguousarray(alpha_row, np.int32),
        beta=beta,
        beta_sum=beta.sum() + boost.sum(axis=0),
        boost_row=boost_row,
        boost=boost,
    )


class DocumentPrior(NamedTuple):
    """The documents' part alone, where topics are given: document d has α = ``alpha[alpha_row[d]]``."""

    alpha: FloatArray  # [rows, K]
    alpha_row: Int32Array  # [D]


def document_prior(alpha: FloatArray, n_docs: int, alpha_row: Int32Array | None = None) -> DocumentPrior:
    """From α (K or rows × K) and each document's row, as compiled code takes it; without rows, the first for all."""
    rows = np.zeros(n_docs, np.int32) if alpha_row is None else np.asarray(alpha_row, np.int32)
    return DocumentPrior(as_input(np.atleast_2d(np.asarray(alpha, np.float64))), as_input(rows))
