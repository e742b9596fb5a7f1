"""Fit until the chains agree, and no longer."""

import tempfile
from pathlib import Path
from typing import Any

from topicloom.corpus._checks import check_whole, shown
from topicloom.diagnostics.fitted import Diagnosis, diagnose
from topicloom.errors import InputError


def fit_until_converged(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    max_rhat: float = 1.05,
    min_ess: float | None = None,
    max_sweeps: int = 10_000,
    **fit_params: Any,
) -> tuple[Any, Diagnosis]:
    """Fit a model, look whether its chains agree, and go on until they do.

    The chains are looked at after ``model.max_iter`` sweeps, and then each time the number has doubled. So the result
    is that of one fit with the ``max_iter`` it ends with: the same bits, on any number of threads. When to stop depends
    on what the chains have recorded alone. If ``model.checkpoint_dir`` is set, an interrupted run resumes from there by
    ``topicloom.resume``.

    Parameters
    ----------
    model : LDA, CompoundLDA, a label model, MedLDA or HMM, not fitted
        With ``n_chains`` of 2 or more and ``burn_in=None``. It is fitted in place with the first number of sweeps; what
        is returned is the model with all of them.
    X, y, **fit_params
        As for ``model.fit``.
    max_rhat, min_ess
        As for ``diagnose``.
    max_sweeps : int, default=10_000
        The most sweeps of a chain.

    Returns
    -------
    model
        The fitted model.
    diagnosis : Diagnosis
        Its last one. ``diagnosis.verdict.agree`` and ``.enough`` say whether it got there.

    Examples
    --------
    >>> from topicloom import LDA
    >>> from topicloom.datasets import bars
    >>> lda = LDA(5, n_chains=4, max_iter=100, trace_every=2, random_state=0)
    >>> model, diagnosis = fit_until_converged(lda, bars(n_docs=60).corpus, max_rhat=1.2, min_ess=20, max_sweeps=400)
    >>> model.n_iter_ in (100, 200, 400)
    True
    """
    import topicloom

    if not hasattr(model, "fit") or not hasattr(model, "checkpoint_dir"):
        raise InputError(f"model is {shown(model)}; give a model of topicloom that is not fitted.")
    if getattr(model, "n_chains", 1) < 2:
        raise InputError("n_chains=1: whether chains agree can be known only of several; use n_chains=4.")
    if getattr(model, "burn_in", None) is not None:
        raise InputError(
            f"burn_in={model.burn_in} fixes which sweeps are averaged before it is known how many are needed; use "
            "burn_in=None."
        )
    if check_whole("max_sweeps", max_sweeps, 1) < check_whole("max_iter", model.max_iter, 1):
        raise InputError(f"max_sweeps={max_sweeps} is below max_iter={model.max_iter}, the first number of sweeps.")
    given = (X,) if y is None else (X, y)
    with tempfile.TemporaryDirectory(prefix="topicloom-") as folder:
        if model.checkpoint_dir is None:
            fitted: Any = model.fit(*given, **fit_params)
            run = Path(folder) / "run"
            fitted.save(run)
        else:
            run = Path(model.checkpoint_dir)
            fitted = model.fit(*given, **fit_params)
        while True:
            found = diagnose(fitted, max_rhat=max_rhat, min_ess=min_ess)
            done = fitted.n_iter_
            if (found.verdict.agree and found.verdict.enough) or done >= max_sweeps or fitted.interrupted_:
                return _apart(fitted, model.checkpoint_dir), found
            fitted = topicloom.resume(
                run, max_iter=min(2 * done, max_sweeps), n_jobs=model.n_jobs, verbose=model.verbose
            )


def _apart(fitted: Any, checkpoint_dir: Any) -> Any:
    """The model as if it had been fitted in one go: without a folder that is about to go."""
    return fitted.set_params(checkpoint_dir=checkpoint_dir)
