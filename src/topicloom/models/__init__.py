"""Models: thin scikit-learn estimators over kernels, chains and estimates."""

from topicloom.errors import StorageError
from topicloom.models.compound import CompoundLDA
from topicloom.models.dependency import DependencyLDA
from topicloom.models.hmm import HMM
from topicloom.models.labeled import LabeledLDA, PriorLDA
from topicloom.models.lda import LDA
from topicloom.models.medlda import MedLDAClassifier, MedLDARegressor

__all__ = [
    "HMM",
    "LDA",
    "CompoundLDA",
    "DependencyLDA",
    "LabeledLDA",
    "MedLDAClassifier",
    "MedLDARegressor",
    "PriorLDA",
]


def model_class(kind: str) -> type[LDA] | type[HMM]:
    """The class that a manifest names."""
    if kind not in __all__:
        raise StorageError(
            f"the manifest names the model {kind!r}, which this topicloom does not have. Upgrade topicloom."
        )
    found: type[LDA] | type[HMM] = globals()[kind]
    return found
