"""A small corpus and quick fits of it, for the tests of variational inference."""

import numpy as np

from topicloom import VariationalLDA
from topicloom.corpus import Corpus
from topicloom.datasets import synthetic_lda

BATCH = ["cvb0", "cvb", "vb"]
STREAM = ["scvb0", "svb"]
ALL = [*BATCH, "cvb_exact", *STREAM]


def small_corpus() -> Corpus:
    return synthetic_lda(60, 40, 4, doc_length=30.0, seed=3).corpus


def small_counts(corpus: Corpus) -> np.ndarray:
    X = corpus.to_matrix().toarray()
    X[7] = 0  # an empty document
    X[20] = X[30]
    return X


def fitted(mode: str, X, **params) -> VariationalLDA:
    params = {"max_iter": 3 if mode == "cvb_exact" else 12, "tol": 0.0, "random_state": 1, "batch_size": 16} | params
    if mode == "cvb_exact":
        X = X[:6] if not isinstance(X, Corpus) else X.select(np.arange(6))
    return VariationalLDA(4, method=mode, **params).fit(X)
