"""All models by name, each imported when it is asked for; ``load`` and ``resume``, which find a model's class by it."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from topicloom.errors import StorageError
from topicloom.files.directories import Stored, opened

if TYPE_CHECKING:
    from topicloom.compound.model import CompoundLDA as CompoundLDA
    from topicloom.hdp.model import HDP as HDP
    from topicloom.hmm.model import HMM as HMM
    from topicloom.labeled.dependency import DependencyLDA as DependencyLDA
    from topicloom.labeled.model import LabeledLDA as LabeledLDA
    from topicloom.labeled.model import PriorLDA as PriorLDA
    from topicloom.lda.model import LDA as LDA
    from topicloom.lda.variational_model import VariationalLDA as VariationalLDA
    from topicloom.medlda.model import MedLDAClassifier as MedLDAClassifier
    from topicloom.medlda.regressor import MedLDARegressor as MedLDARegressor

_HOME = {
    "HDP": "topicloom.hdp.model",
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
    """Make a model of your own known to ``load`` and ``resume``.

    Parameters
    ----------
    name : str
        The name of its class.
    module : str
        The module that has it.
    """
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
    """Read a fitted model from the directory that ``save`` or a finished run wrote.

    Parameters
    ----------
    path : str or path
        The directory, or its address for fsspec, as "s3://bucket/model".

    Returns
    -------
    model
        A fitted model of the class that was saved. Corpus and chains are read when they are first used.

    Raises
    ------
    StorageError
        If there is no model, or it is damaged or not finished.

    Examples
    --------
    >>> import os, tempfile, topicloom
    >>> model = topicloom.LDA(2, max_iter=10, random_state=0).fit(["river boat", "money bank"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model"))
    ...     topicloom.load(os.path.join(folder, "model")).vocabulary_
    ('bank', 'boat', 'money', 'river')
    """
    return opened(path, lambda stored: model_class(stored)._load(stored))


def resume(
    path: PathLike, *, max_iter: int | None = None, n_jobs: int | None = None, verbose: int | None = None,
    keep_draws: Any = None,
) -> Any:  # fmt: skip
    """Continue an interrupted run from its last checkpoint, or a finished model to a higher ``max_iter``.

    The finished model equals, bit for bit, one that was never interrupted.

    Parameters
    ----------
    path : str or path
        The directory, or its address for fsspec: the ``checkpoint_dir`` of a fit, or a saved model that has its corpus.
    max_iter : int, default=None
        Sweeps in all. None leaves the number as it was.
    n_jobs : int, default=None
        Number of threads. None leaves it as it was.
    verbose : int, default=None
        1 shows progress. None leaves it as it was.
    keep_draws : dict, default=None
        Functions by name, if the run keeps draws of functions: files cannot hold them.

    Returns
    -------
    model
        The fitted model. The directory has it, too.

    Raises
    ------
    InputError
        If there is nothing to continue.
    StorageError
        If the directory holds no run, or is damaged.

    Examples
    --------
    >>> import os, tempfile, topicloom
    >>> texts = ["river boat", "money bank"]
    >>> whole = topicloom.LDA(2, max_iter=20, random_state=0).fit(texts)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = os.path.join(folder, "run")
    ...     part = topicloom.LDA(2, max_iter=10, random_state=0, checkpoint_dir=run).fit(texts)
    ...     topicloom.resume(run, max_iter=20).fingerprint_ == whole.fingerprint_
    True
    """
    stored = Stored.open(path)
    changes = {"max_iter": max_iter, "n_jobs": n_jobs, "verbose": verbose, "keep_draws": keep_draws}
    given = {name: value for name, value in changes.items() if value is not None}
    with stored.naming():
        return model_class(stored)._resume(stored, given)
