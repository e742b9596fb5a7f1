"""Probabilistic topic models: the true posterior, fast, and the same answer twice.

The public names are loaded on first use, so that ``import topicloom`` stays quick and compiles nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from topicloom._limits import importing

__version__ = "0.2.0"

if TYPE_CHECKING:
    from topicloom import cells as cells
    from topicloom import datasets as datasets
    from topicloom import evaluation as evaluation
    from topicloom import explore as explore
    from topicloom import mallet as mallet
    from topicloom import scale as scale
    from topicloom.corpus import Corpus as Corpus
    from topicloom.corpus import as_corpus as as_corpus
    from topicloom.corpus import from_anndata as from_anndata
    from topicloom.corpus import from_frame as from_frame
    from topicloom.corpus import from_matrix as from_matrix
    from topicloom.corpus import from_texts as from_texts
    from topicloom.corpus import read as read
    from topicloom.engine import estimates as estimates
    from topicloom.engine.stopping import Converged as Converged
    from topicloom.lda import memory as memory
    from topicloom.models import HDP as HDP
    from topicloom.models import HMM as HMM
    from topicloom.models import LDA as LDA
    from topicloom.models import CompoundLDA as CompoundLDA
    from topicloom.models import DependencyLDA as DependencyLDA
    from topicloom.models import LabeledLDA as LabeledLDA
    from topicloom.models import MedLDAClassifier as MedLDAClassifier
    from topicloom.models import MedLDARegressor as MedLDARegressor
    from topicloom.models import PriorLDA as PriorLDA
    from topicloom.models import VariationalLDA as VariationalLDA
    from topicloom.models import load as load
    from topicloom.models import resume as resume

_HOME = {
    "Corpus": "topicloom.corpus",
    "from_anndata": "topicloom.corpus",
    "as_corpus": "topicloom.corpus",
    "from_frame": "topicloom.corpus",
    "from_matrix": "topicloom.corpus",
    "from_texts": "topicloom.corpus",
    "read": "topicloom.corpus",
    "Converged": "topicloom.engine.stopping",
    "HDP": "topicloom.models",
    "HMM": "topicloom.models",
    "CompoundLDA": "topicloom.models",
    "DependencyLDA": "topicloom.models",
    "LDA": "topicloom.models",
    "VariationalLDA": "topicloom.models",
    "LabeledLDA": "topicloom.models",
    "MedLDAClassifier": "topicloom.models",
    "MedLDARegressor": "topicloom.models",
    "PriorLDA": "topicloom.models",
    "load": "topicloom.models",
    "resume": "topicloom.models",
}
_MODULES = {name: f"topicloom.{name}" for name in ("cells", "datasets", "evaluation", "explore", "mallet", "scale")}
_MODULES |= {"estimates": "topicloom.engine.estimates", "memory": "topicloom.lda.memory"}

__all__ = sorted([*_HOME, *_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _HOME or name in _MODULES:
        with importing():
            return getattr(import_module(_HOME[name]), name) if name in _HOME else import_module(_MODULES[name])
    raise AttributeError(f"module 'topicloom' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
