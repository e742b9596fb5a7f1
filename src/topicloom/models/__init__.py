"""Models: thin scikit-learn estimators over kernels, chains and estimates."""

from topicloom.errors import StorageError
from topicloom.models.dependency import DependencyLDA
from topicloom.models.labeled import LabeledLDA, PriorLDA
from topicloom.models.lda import LDA

__all__ = ["LDA", "DependencyLDA", "LabeledLDA", "PriorLDA"]


def model_class(kind: str) -> type[LDA]:
    """The class that a manifest names."""
    if kind not in __all__:
        raise StorageError(
            f"the manifest names the model {kind!r}, which this topicloom does not have. Upgrade topicloom."
        )
    found: type[LDA] = globals()[kind]
    return found
