"""All models by name, each imported when it is asked for; ``load`` and ``resume``, which find a model's class by it."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from topicloom.errors import StorageError
from topicloom.files.directories import Stored, opened

if TYPE_CHECKING:
    from topicloom.compound.model import CompoundLDA as CompoundLDA
    from topicloom.hmm.model import HMM as HMM
    from topicloom.labeled.dependency import DependencyLDA as DependencyLDA
    from topicloom.labeled.model import LabeledLDA as LabeledLDA
    from topicloom.labeled.model import PriorLDA as PriorLDA
    from topicloom.lda.model import LDA as LDA
    from topicloom.lda.variational_model import VariationalLDA as VariationalLDA
    from topicloom.medlda.model import MedLDAClassifier as MedLDAClassifier
    from topicloom.medlda.regressor import MedLDARegressor as MedLDARegressor

_HOME = {
    "HMM": "topicloom.hmm.model",
    "LDA": "topicloom.lda.model",
    "VariationalLDA": "topicloom.lda.variational_model",
    "CompoundLDA": "topicloom.compound.model",
    "DependencyLDA": "topicloom.labeled.dependency",
    "LabeledLDA": "topicloom.labeled.model",
    "MedLDAClassifier": "topicloom.medlda.model",
    "MedLDARegressor": "topicloom.medlda.regressor",
    "PriorLDA": "topicloom.labeled.model",
}

__all__ = list(_HOME)
PathLike = str | os.PathLike[str]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'topicloom.models' has no attribute {name!r}")


def register(name: str, module: str) -> None:
    """Make a model of your own known to ``load`` and ``resume``: the name of its class, and the module that has it."""
    _HOME[name] = module


def model_class(stored: Stored) -> Any:
    """The class that a manifest names."""
    kind = stored.manifest["kind"]
    if kind == "LDA" and stored.manifest["params"].get("inference", "gibbs") != "gibbs":
        kind = "VariationalLDA"  # which was a parameter of LDA before
    if kind not in _HOME:
        raise StorageError(
            f"the manifest names the model {kind!r}, which this topicloom does not have. Upgrade topicloom."
        )
    return __getattr__(kind)


def load(path: PathLike) -> Any:
    """A fitted model, of the class that was saved, from its directory."""
    return opened(path, lambda stored: model_class(stored)._load(stored))


def resume(
    path: PathLike, *, max_iter: int | None = None, n_jobs: int | None = None, verbose: int | None = None,
    keep_draws: Any = None,
) -> Any:  # fmt: skip
    """Go on with a run from its last checkpoint, or with a finished model to a higher ``max_iter``.

    The finished model equals, bit for bit, one that was never interrupted. A run that keeps draws of functions needs
    them again, by their names, in ``keep_draws``: files cannot hold them.
    """
    stored = Stored.open(path)
    changes = {"max_iter": max_iter, "n_jobs": n_jobs, "verbose": verbose, "keep_draws": keep_draws}
    given = {name: value for name, value in changes.items() if value is not None}
    return model_class(stored)._resume(stored, given)
