"""AnnData objects of single-cell genomics to a corpus: a cell is a document, a feature (a region, a gene) a word."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from topicloom.corpus._cells import Block, Cells, Choice, NotCountsError, by_rows, compressed, few_features, to_corpus
from topicloom.corpus._checks import check_whole, items, shown, texts
from topicloom.corpus._columns import is_missing, to_group, to_response
from topicloom.corpus.corpus import Corpus
from topicloom.errors import FewFeaturesWarning, InputError, counted, warn

REMEMBERED = ("layer", "binarize")  # by a model, for new cells
_LOOKED_AT = 1 << 16  # entries by which a layer is told to hold counts


def from_anndata(
    adata: Any,
    *,
    layer: str | None = None,
    binarize: bool = False,
    min_cells: int | float = 0,
    max_cells: int | float = 1.0,
    min_features: int | None = None,
    label: str | None = None,
    group: str | None = None,
    response: str | None = None,
    time: str | None = None,
    vocabulary: Sequence[str] | None = None,
) -> Corpus:
    """Corpus from an AnnData object: cells (``obs``) are documents, features (``var``) are words.

    The matrix may be sparse (CSR, CSC) or dense, in memory or in a file that is opened with ``backed="r"``, and the
    object may be a view. It is read in parts: beside the AnnData object, memory is that of the corpus, 4 bytes per
    token (a view of an object in a file is loaded first). Cells keep their order and names, and none is dropped.

    Parameters
    ----------
    adata : AnnData
        Cells × features. The extra ``cells`` installs the package.
    layer : str, default=None
        The layer that holds the counts; None stands for ``adata.X``. Counts are whole numbers, also if they are
        stored as floats.
    binarize : bool, default=False
        Whether each count above 0 stands for 1, as is usual for accessible regions.
    min_cells, max_cells : int or float, default=0 and 1.0
        Least and largest number (an int) or share (a float) of cells that have a feature; others are left out.
    min_features : int, default=None
        Warn of cells that have fewer of the features that are kept. They keep their place.
    label, group, response, time : str, default=None
        Columns of ``obs``: one label per cell, collections, numbers to predict, times.
    vocabulary : sequence of str, default=None
        The features to use, in this order, instead of a choice by ``min_cells`` and ``max_cells``. Those that
        ``adata`` lacks count as 0; tokens of others are counted in ``unknown``.

    Returns
    -------
    Corpus
        With ``obs_names`` as ``ids`` and ``var_names`` as ``vocabulary``.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> from topicloom import from_anndata
    >>> adata = anndata.AnnData(
    ...     np.array([[2.0, 0, 1], [0, 3, 0]]),
    ...     obs=pd.DataFrame(index=["cell1", "cell2"]),
    ...     var=pd.DataFrame(index=["chr1:0-500", "chr1:900-1400", "chr2:0-500"]),
    ... )
    >>> from_anndata(adata, binarize=True)
    Corpus(2 documents, 3 words, 3 tokens, with ids)
    """
    check_anndata(adata)
    names = None if vocabulary is None else texts("vocabulary", items("vocabulary", vocabulary))
    choice = Choice(binarize, min_cells, max_cells, names)
    choice.check()
    known = metadata(adata.obs, label=label, group=group, response=response, time=time)
    try:
        corpus = to_corpus(_cells(adata, layer), choice)
    except NotCountsError as error:
        raise InputError(f"{error}{remedy(_layers(adata, layer), _raw(adata), binarize)}") from None
    return finished(corpus, known, layer, binarize, min_features)


def finished(corpus: Corpus, known: Mapping[str, Any], layer: str | None, binarize: bool, least: int | None) -> Corpus:
    """The corpus with what is known of its cells, and how new cells are to be read."""
    if least is not None and (short := few_features(corpus, check_whole("min_features", least, 1))):
        warn(
            f"{counted(short, 'cells')} of {corpus.n_docs:,} have fewer than {least} of the features that are kept "
            f"(min_features={least}). They keep their place; to leave them out, take a part of the object, for "
            "instance adata[adata.obs['n_features'] >= 200].",
            FewFeaturesWarning,
        )
    about: dict[str, Any] = {"format": "h5ad", "told_by_name": "h5ad"}
    about |= {"layer": layer} if layer is not None else {}
    about |= {"binarize": True} if binarize else {}
    return replace(corpus.with_metadata(**known), reading=about)


def is_anndata(X: Any) -> bool:
    """Whether it is an AnnData object, told without the package."""
    return all(hasattr(type(X), name) for name in ("obs_names", "var_names", "layers", "obsm"))


def check_anndata(adata: Any) -> None:
    if is_anndata(adata):
        return
    modalities = getattr(adata, "mod", None)
    if isinstance(modalities, Mapping) and modalities:
        named = ", ".join(f"mdata.mod[{name!r}]" for name in modalities)
        raise InputError(f"adata is a {type(adata).__name__} of several modalities; give one of them: {named}.")
    raise InputError(f"adata is {shown(adata)}; expected an AnnData object, cells × features.")


def new_cells(adata: Any, vocabulary: Sequence[str], reading: Mapping[str, Any] | None, **options: Any) -> Corpus:
    """Cells for a fitted model: its features by name, and layer and binarising as in its fit unless they are given.

    The layer of the fit is read if the object has it; otherwise ``X`` is.
    """
    kept = {name: reading[name] for name in REMEMBERED if reading and name in reading}
    if kept.get("layer") is not None and is_anndata(adata) and kept["layer"] not in adata.layers:
        del kept["layer"]
    return from_anndata(adata, vocabulary=vocabulary, **{**kept, **options})


# -- the matrix ------------------------------------------------------------------------------------------------------


def _cells(adata: Any, layer: str | None) -> Cells:
    """The matrix in blocks, with its names."""
    if layer is not None and layer not in adata.layers:
        known = ", ".join(map(repr, adata.layers)) or "none"
        raise InputError(f"layer={shown(layer)}: adata has no such layer; it has {known}.")
    where = "adata.X" if layer is None else f"the layer {layer!r}"
    cells, features = (texts(f"{axis}_names", tuple(getattr(adata, f"{axis}_names"))) for axis in ("obs", "var"))
    return Cells(where, _blocks(adata, layer, where), cells, features)


def _blocks(adata: Any, layer: str | None, where: str) -> Callable[[], Iterator[Block]]:
    shape = (int(adata.n_obs), int(adata.n_vars))
    if adata.is_view and not adata.isbacked:  # which is made of its parent in parts; not possible if that is in a file

        def rows(first: int, last: int) -> Any:
            part = adata[first:last]
            return _plain(part.X if layer is None else part.layers[layer], where)

        return by_rows(rows, shape)
    matrix = adata.X if layer is None else adata.layers[layer]
    if matrix is None:
        layers = ", ".join(map(repr, adata.layers)) or "none"
        raise InputError(f"adata.X is None; name the layer that holds the counts with layer=. There are: {layers}.")
    return blocks_of(matrix, shape, where)


def blocks_of(matrix: Any, shape: tuple[int, int], where: str) -> Callable[[], Iterator[Block]]:
    """Blocks of a matrix of numpy, scipy, or of a backed object."""
    if getattr(matrix, "format", None) in ("csr", "csc"):
        group = getattr(matrix, "group", None)  # a sparse matrix in a file
        if group is None:
            group = {name: getattr(matrix, name) for name in ("data", "indices", "indptr")}
        return compressed(matrix.format, group, shape)
    if sp.issparse(matrix):
        return blocks_of(matrix.tocsr(), shape, where)
    if len(getattr(matrix, "shape", ())) != 2:
        raise InputError(f"{where} is {shown(matrix)}; expected a sparse or dense matrix of counts.")
    return by_rows(lambda first, last: _plain(matrix[first:last], where), shape)


def _plain(rows: Any, where: str) -> Any:
    """Rows as an array or a sparse matrix; those of a lazy array are computed."""
    if hasattr(rows, "compute"):
        rows = rows.compute()
    if sp.issparse(rows):
        return rows
    dense = np.asarray(rows)
    if dense.dtype.kind not in "buif":
        raise InputError(f"{where} holds {dense.dtype} values; counts must be numbers.")
    if dense.dtype.kind == "f" and not np.all(np.isfinite(dense)):
        row, column = np.argwhere(~np.isfinite(dense))[0]
        raise NotCountsError(f"{where} does not hold counts: it has {dense[row, column]} in feature {column}.")
    return dense


# -- what to do about values that are no counts ----------------------------------------------------------------------


def remedy(layers: Mapping[str, Any], raw: Any, binarize: bool) -> str:
    """Where the counts are, as far as that can be seen."""
    start = " The values look normalised, scaled or log-transformed."
    for name, matrix in layers.items():
        if _holds_counts(matrix):
            where = (
                "adata.X, which is read without layer=" if name == "X" else f"the layer {name!r}: give layer={name!r}"
            )
            return f"{start} Counts are in {where}."
    if _holds_counts(raw):
        return f"{start} Counts are in adata.raw: give adata.raw.to_adata()."
    also = "" if binarize else " If it is enough to know which features a cell has, give binarize=True."
    return (
        f"{start} Use the counts from before that, which scanpy users keep with "
        f"adata.layers['counts'] = adata.X.copy().{also}"
    )


def _layers(adata: Any, layer: str | None) -> dict[str, Any]:
    others: dict[str, Any] = {} if layer is None else {"X": adata.X}
    return others | {str(name): adata.layers[name] for name in adata.layers if name != layer}


def _raw(adata: Any) -> Any:
    return None if getattr(adata, "raw", None) is None else adata.raw.X


def _holds_counts(matrix: Any) -> bool:
    """Whether the first values are whole numbers of 0 or more, some above 0."""
    try:
        if getattr(matrix, "format", None) in ("csr", "csc"):
            data = matrix.group["data"] if hasattr(matrix, "group") else matrix.data
            values = np.asarray(data[:_LOOKED_AT])
        else:
            rows = max(1, _LOOKED_AT // max(matrix.shape[1], 1))
            values = np.asarray(matrix[:rows])
        return bool(values.size and np.all((values >= 0) & (values == np.floor(values))) and values.any())
    except Exception:  # whatever it is, it is not what a reader can be sent to
        return False


# -- columns of obs --------------------------------------------------------------------------------------------------


def metadata(obs: Any, **columns: str | None) -> dict[str, Any]:
    """What the named columns of ``obs`` say, as fields of a corpus."""
    named = {role: column for role, column in columns.items() if column is not None}
    if not named:
        return {}
    from topicloom.corpus import frames
    from topicloom.corpus._columns import joined_groups

    for role, column in named.items():
        if not isinstance(column, str) or column not in obs.columns:
            known = ", ".join(map(repr, obs.columns)) or "none"
            raise InputError(f"{role}={shown(column)}: obs has no such column; it has {known}.")
    table = frames._as_table(obs[list(dict.fromkeys(named.values()))], {})
    found: dict[str, Any] = {}
    if "label" in named:
        found["labels"] = frames._converted(table, named["label"], _one_label)
    if "group" in named:
        found["groups"] = joined_groups(frames._converted(table, named["group"], to_group))
    if "response" in named:
        found["responses"] = frames._converted(table, named["response"], to_response)
    if "time" in named:
        found["times"] = frames._times(table, named["time"])
    return found


def _one_label(value: Any) -> tuple[str, ...]:
    """A cell's label, blanks and all: "B cell" is one."""
    return () if is_missing(value) or value == "" else (str(value),)
