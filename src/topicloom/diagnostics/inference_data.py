"""Kept draws in the form of ArviZ, for its plots and summaries."""

import warnings
from typing import Any

import numpy as np

from topicloom._types import AnyArray, Int64Array
from topicloom.corpus._checks import shown
from topicloom.diagnostics.alignment import align as align_chains
from topicloom.diagnostics.alignment import chain_topics
from topicloom.errors import InputError, MissingExtraError

_STATISTICS = ("log_joint", "changed", "alpha_sum", "beta_mean", "agreement", "acceptance")
_DIMS = {  # of the models' own parameters
    "theta": ("document", "topic"), "phi": ("topic", "word"),
    "initial": ("state",), "transition": ("state", "next_state"), "emission": ("state", "symbol"),
}  # fmt: skip


def to_inference_data(model: Any, *, align: bool = False) -> Any:
    """Kept draws and traces of a fitted model as an ArviZ dataset.

    Parameters
    ----------
    model : fitted model of topicloom
        With ``keep_draws``.
    align : bool, default=False
        Whether to give the topics of all chains the numbers of the published chain. A topic of the published chain that
        another chain lacks is NaN there, and topics that only other chains have are left out, so that θ of a document
        need not sum to 1. Functions' draws are left as they are. Without it, each chain has its own numbers, and
        topics must not be compared or averaged across chains.

    Returns
    -------
    arviz.InferenceData, or xarray.DataTree from ArviZ 1 on
        ``posterior`` has what ``keep_draws`` asked for: ``theta`` over (chain, draw, document, topic), ``phi`` over
        (chain, draw, topic, word), results of functions by their names. Coordinates are the documents' ids, the words,
        and for ``draw`` the sweeps. ``sample_stats`` has the scalars that were recorded from ``burn_in`` on, such as
        ``log_joint``, at their own sweeps (``trace_every``).

    Notes
    -----
    ArviZ is not a dependency: ``pip install 'topicloom[arviz]'``.

    Examples
    --------
    >>> from topicloom import LDA
    >>> from topicloom.datasets import bars
    >>> lda = LDA(5, n_chains=2, max_iter=40, burn_in=20, thin=2, random_state=0, keep_draws=["theta", "phi"])
    >>> data = to_inference_data(lda.fit(bars(n_docs=50).corpus), align=True)  # doctest: +SKIP
    >>> data.posterior["phi"].dims  # doctest: +SKIP
    ('chain', 'draw', 'topic', 'word')
    """
    if not hasattr(model, "seed_") or not hasattr(model, "draws_"):
        raise InputError(f"model is {shown(model)}; give a fitted model of topicloom.")
    draws = model.draws_
    if not draws:
        raise InputError(
            'the model keeps no draws; fit it with a burn_in and keep_draws, for instance keep_draws=["theta", "phi"].'
        )
    arviz, xarray = _arviz()
    if align:
        draws = _aligned(model, draws)
    groups = {"posterior": _posterior(xarray, model, draws), "sample_stats": _statistics(xarray, model)}
    if int(arviz.__version__.split(".")[0]) < 1:
        return arviz.InferenceData(**groups)
    return xarray.DataTree.from_dict(groups)


def _arviz() -> tuple[Any, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # which versions before 1 give when they are imported
            import arviz
            import xarray
    except ImportError as error:
        raise MissingExtraError("this needs ArviZ; pip install 'topicloom[arviz]'.") from error
    return arviz, xarray


def _posterior(xarray: Any, model: Any, draws: dict[str, AnyArray]) -> Any:
    n_chains, n_draws = next(iter(draws.values())).shape[:2]
    sweeps = model.burn_in + model.thin * np.arange(n_draws)
    variables = {
        name: (("chain", "draw", *(_DIMS.get(name) or _numbered(name, array))), array) for name, array in draws.items()
    }
    used = {dim for dims, _ in variables.values() for dim in dims}
    coords = {name: values for name, values in _coordinates(model).items() if name in used}
    coords |= {"chain": np.arange(n_chains), "draw": sweeps}
    return xarray.Dataset(variables, coords, _attributes())


def _numbered(name: str, array: AnyArray) -> tuple[str, ...]:
    """Dimensions of a function's result, named as ArviZ does."""
    return tuple(f"{name}_dim_{axis}" for axis in range(array.ndim - 2))


def _coordinates(model: Any) -> dict[str, Any]:
    if hasattr(model, "alphabet_"):
        states = np.arange(model.n_components)
        return {"state": states, "next_state": states, "symbol": list(model.alphabet_)}
    corpus = model.corpus_
    ids = np.arange(corpus.n_docs) if corpus.ids is None else list(corpus.ids)
    topics = list(model.classes_) if _topics_are_labels(model) else np.arange(model.topic_word_.shape[0])
    return {"document": ids, "topic": topics, "word": list(model.vocabulary_)}


def _topics_are_labels(model: Any) -> bool:
    return hasattr(model, "label_counts_")


def _statistics(xarray: Any, model: Any) -> Any:
    """What was recorded from ``burn_in`` on, as far as every chain has come."""
    traces = model.traces_
    late = [np.flatnonzero(np.array(trace.sweep) >= model.burn_in) for trace in traces]
    n = min(map(len, late))
    names = [name for name in _STATISTICS if all(getattr(trace, name) for trace in traces)]
    variables = {
        name: (
            ("chain", "draw"),
            np.array([np.asarray(getattr(t, name))[own[:n]] for t, own in zip(traces, late, strict=True)]),
        )
        for name in names
    }  # fmt: skip
    coords = {"chain": np.arange(len(traces)), "draw": np.asarray(traces[0].sweep)[late[0][:n]]}
    return xarray.Dataset(variables, coords, _attributes())


def _attributes() -> dict[str, str]:
    from topicloom import __version__

    return {"inference_library": "topicloom", "inference_library_version": __version__}


def _aligned(model: Any, draws: dict[str, AnyArray]) -> dict[str, AnyArray]:
    if not hasattr(model, "_word_counts_of"):
        raise InputError("align=True matches topics by their words; this model has states. Leave it out.")
    if _topics_are_labels(model) or len(model.traces_) == 1:
        return draws
    if len(model._chain_groups(len(model.traces_))) > 1:
        raise InputError("align=True matches topics across chains, and each class has chains of its own; leave it out.")
    matches = align_chains(chain_topics(model), reference=model.best_chain_).matches
    axes = {"theta": 3, "phi": 2}
    return {name: _reordered(array, matches, axes[name]) if name in axes else array for name, array in draws.items()}


def _reordered(array: AnyArray, matches: Int64Array, axis: int) -> AnyArray:
    """Draws with the topics that match each of the published chain's; NaN where there is none."""
    out = np.moveaxis(np.full_like(array, np.nan), axis, 1)
    for chain, (own, new) in enumerate(zip(np.moveaxis(array, axis, 1), out, strict=True)):
        has = np.flatnonzero(matches[chain] >= 0)
        new[has] = own[matches[chain, has]]
    return np.ascontiguousarray(np.moveaxis(out, 1, axis))
