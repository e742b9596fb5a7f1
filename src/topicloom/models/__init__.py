"""Models: thin scikit-learn estimators over kernels, chains and estimates. Each is loaded when it is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from topicloom.errors import StorageError

if TYPE_CHECKING:
    from topicloom.models.compound import CompoundLDA as CompoundLDA
    from topicloom.models.dependency import DependencyLDA as DependencyLDA
    from topicloom.models.hmm import HMM as HMM
    from topicloom.models.labeled import LabeledLDA as LabeledLDA
    from topicloom.models.labeled import PriorLDA as PriorLDA
    from topicloom.models.lda import LDA as LDA
    from topicloom.models.medlda import MedLDAClassifier as MedLDAClassifier
    from topicloom.models.medlda import MedLDARegressor as MedLDARegressor

_HOME = {
    "HMM": "hmm",
    "LDA": "lda",
    "CompoundLDA": "compound",
    "DependencyLDA": "dependency",
    "LabeledLDA": "labeled",
    "MedLDAClassifier": "medlda",
    "MedLDARegressor": "medlda",
    "PriorLDA": "labeled",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"topicloom.models.{_HOME[name]}"), name)
    raise AttributeError(f"module 'topicloom.models' has no attribute {name!r}")


def model_class(kind: str) -> "type[LDA] | type[HMM]":
    """The class that a manifest names."""
    if kind not in _HOME:
        raise StorageError(
            f"the manifest names the model {kind!r}, which this topicloom does not have. Upgrade topicloom."
        )
    found: type[LDA] | type[HMM] = __getattr__(kind)
    return found
