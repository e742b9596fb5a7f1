"""Small models of every kind, each with the data that it is fitted to."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicloom import (
    HDP,
    HMM,
    LDA,
    CompoundLDA,
    DependencyLDA,
    LabeledLDA,
    MedLDAClassifier,
    MedLDARegressor,
    PriorLDA,
    VariationalLDA,
)
from topicloom.datasets import synthetic_lda

SWEEPS, EARLIER = 10, 6  # of a whole run, and of one that is then resumed


class Case(NamedTuple):
    make: Callable[..., Any]
    data: Callable[[int], tuple[Any, ...]]  # arguments of ``fit``, made from a seed

    def model(self, seed: int = 0, **params: Any) -> Any:
        return self.make(**{"max_iter": SWEEPS, "random_state": seed, "checkpoint_every": 1, "n_jobs": 1, **params})

    def fit(self, seed: int = 0, *, callbacks: Any = (), **params: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # so few iterations need not converge
            return self.model(seed, **params).fit(*self.data(seed), callbacks=callbacks)

    def interrupted(self, folder: Path) -> None:
        """Leave a run in a directory that stopped half-way."""

        def stop(chain: Any) -> None:
            if chain.sweep == EARLIER:
                raise KeyError

        try:
            self.fit(checkpoint_dir=folder, callbacks=[stop])
        except KeyError:
            return
        raise AssertionError("the run was not interrupted")


def _corpus(seed: int) -> Any:
    return synthetic_lda(20, 25, 3, doc_length=12.0, seed=seed).corpus


def _labelled(seed: int) -> tuple[Any, ...]:
    labels = [["a"], ["a", "b"], ["b", "c"], ["c"]] * 5
    return _corpus(seed), labels[seed % 2 :] + labels[: seed % 2]


def _sequences(seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    return ([rng.integers(0, 3, size=n).tolist() for n in (9, 12, 7)],)


def _with(kind: Any, **params: Any) -> Callable[..., Any]:
    return lambda **others: kind(**{**params, **others})


_KEPT = {"burn_in": 3, "thin": 2}
_NO_STOP = {"tol": 0.0}
CASES = {
    "LDA": Case(_with(LDA, n_components=3, n_chains=2, **_KEPT), lambda seed: (_corpus(seed),)),
    "LDA paths": Case(_with(LDA, n_components=3, n_paths=2), lambda seed: (_corpus(seed),)),
    "LDA cvb0": Case(_with(VariationalLDA, n_components=3, method="cvb0", **_NO_STOP), lambda seed: (_corpus(seed),)),
    "LDA scvb0": Case(
        _with(VariationalLDA, n_components=3, method="scvb0", batch_size=8, **_NO_STOP), lambda seed: (_corpus(seed),)
    ),
    "LabeledLDA": Case(_with(LabeledLDA, n_chains=2, **_KEPT), _labelled),
    "PriorLDA": Case(_with(PriorLDA, method="cvb0", **_KEPT), _labelled),
    "DependencyLDA": Case(_with(DependencyLDA, **_KEPT), _labelled),
    "MedLDAClassifier": Case(
        _with(MedLDAClassifier, n_components=3, **_KEPT),
        lambda seed: (_corpus(seed), [["x", "y"][(d + seed) % 2] for d in range(20)]),
    ),
    "MedLDARegressor": Case(
        _with(MedLDARegressor, n_components=3, **_KEPT), lambda seed: (_corpus(seed), np.arange(20.0) + seed)
    ),
    "CompoundLDA": Case(
        _with(CompoundLDA, n_components=3, **_KEPT), lambda seed: (_corpus(seed).with_metadata(groups=["u", "v"] * 10),)
    ),
    "CompoundLDA mgs": Case(
        _with(CompoundLDA, n_components=3, method="mgs", **_KEPT),
        lambda seed: (_corpus(seed).with_metadata(groups=["u", "v"] * 10),),
    ),
    "CompoundLDA vem": Case(
        _with(CompoundLDA, n_components=3, method="vem", method_options=_NO_STOP),
        lambda seed: (_corpus(seed).with_metadata(groups=["u", "v"] * 10),),
    ),
    "HDP": Case(_with(HDP, initial_topics=3, n_chains=2), lambda seed: (_corpus(seed),)),
    "HMM": Case(_with(HMM, n_components=2, n_chains=2, **_KEPT), _sequences),
    "HMM cvb0": Case(_with(HMM, n_components=2, method="cvb0", **_NO_STOP), _sequences),
    "HMM em": Case(_with(HMM, n_components=2, method="em", **_NO_STOP), _sequences),
}
