"""A model's results in the AnnData object that it was fitted on, or in one with new cells."""

import json
from typing import Any

import numpy as np

from topicloom._types import FloatArray
from topicloom.cells.binarize import check_topics, topic_names
from topicloom.corpus._checks import first_repeat
from topicloom.corpus.anndata import check_anndata
from topicloom.errors import InputError


def annotate(adata: Any, model: Any, *, transform: bool | None = None) -> None:
    """Write a model's topics into an AnnData object, for scanpy and other tools.

    Parameters
    ----------
    adata : AnnData
        Changed in place; not a view. Only names are looked at if its cells are those of the fit.
    model : fitted model with topics
        Its topics are written.
    transform : bool, default=None
        False takes the topics that the fit found, which needs every cell of ``adata`` to be one of the fit, by name.
        True computes them anew by ``model.transform(adata)``. None takes those of the fit if all cells are known, and
        otherwise computes all anew.

    Returns
    -------
    None
        ``adata`` is changed.

    Notes
    -----
    ``obsm["X_topics"]`` has the topics of each cell [cells, topics], and ``varm["topics"]`` the probability of each
    feature in each topic [features, topics]. A feature that the model does not have, because it was left out before
    the fit, has 0 in every topic; ``var["in_topics"]`` says which features the model has. ``uns["topicloom"]`` says
    where they come from: ``model``, ``version``, ``seed``, ``fingerprint``, ``cells`` ("fit" or "transform"),
    ``topic_names``, ``alpha``, ``parameters`` and, where it is known, ``verdict``. It holds text, numbers and arrays
    alone, so that it can be written to h5ad; parameters that are lists or dicts are JSON texts.

    Examples
    --------
    >>> from topicloom import LDA, cells
    >>> from topicloom.datasets import synthetic_cells
    >>> adata = synthetic_cells(200, 300, 3, fragments_per_cell=40.0).to_anndata()
    >>> model = LDA(3, max_iter=20, random_state=0).fit(adata)
    >>> cells.annotate(adata, model)
    >>> adata.obsm["X_topics"].shape, adata.varm["topics"].shape, adata.uns["topicloom"]["cells"]
    ((200, 3), (300, 3), 'fit')
    """
    check_anndata(adata)
    check_topics(model)
    if adata.is_view:
        raise InputError("adata is a view of another object, which cannot be written into; take adata.copy() first.")
    if transform not in (None, True, False):
        raise InputError(f"transform={transform!r} must be None, True or False.")
    rows = None if transform else _rows_of_fit(adata, model, needed=transform is False)
    shares = np.asarray(model.transform(adata) if rows is None else model.doc_topic_[rows])
    features = list(map(str, adata.var_names))
    table, known = _by_feature(features, model)
    about = _about(model, "transform" if rows is None else "fit")
    adata.obsm["X_topics"], adata.varm["topics"], adata.var["in_topics"] = shares, table, known
    adata.uns["topicloom"] = about


def _rows_of_fit(adata: Any, model: Any, *, needed: bool) -> Any:
    """Each cell's row in the fit, or None if some were not in it."""
    names = tuple(map(str, adata.obs_names))
    corpus = model._corpus_at_hand()
    known = () if corpus is None or corpus.ids is None else corpus.ids
    if names == known:
        return np.arange(len(names))
    row_of = {name: d for d, name in enumerate(known)}
    if len(row_of) < len(known):
        reason = f"the fit had the cell {first_repeat(known)!r} twice"
    elif missing := [name for name in names if name not in row_of][:1]:
        reason = f"the cell {missing[0]!r} was not in the fit" if known else "the model has no names of its cells"
    else:
        return np.array([row_of[name] for name in names])
    if needed:
        raise InputError(f"transform=False: {reason}; leave it out, or give transform=True.")
    return None


def _by_feature(features: list[str], model: Any) -> tuple[FloatArray, Any]:
    """φ by feature, 0 where the model has no such feature, and which it has."""
    number = {name: v for v, name in enumerate(model.vocabulary_)}
    place = np.array([number.get(name, -1) for name in features], np.int64)
    known = place >= 0
    if not known.any():
        raise InputError(
            f"adata has no feature of the model: its first is {features[0]!r}, the model's {model.vocabulary_[0]!r}. "
            "Are the names of both of one kind?"
        )
    table = np.zeros((len(features), len(model.topic_word_)))
    table[known] = model.topic_word_.T[place[known]]
    return table, known


def _about(model: Any, cells: str) -> dict[str, Any]:
    """Where the topics come from, in types that h5ad files hold."""
    from topicloom import __version__

    about: dict[str, Any] = {
        "model": type(model).__name__,
        "version": __version__,
        "seed": int(model.seed_),
        "fingerprint": model.fingerprint_,
        "cells": cells,
        "topic_names": np.array(topic_names(model), dtype=object),
        "alpha": np.array(model.alpha_),
        "parameters": {
            name: value if isinstance(value, bool | int | float | str) else json.dumps(value)
            for name, value in model._params_to_save(None).items()
            if value is not None
        },
    }
    return about if model.verdict_ is None else about | {"verdict": str(model.verdict_)}
