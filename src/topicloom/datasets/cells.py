"""Cells × regions with known topics, as single-cell chromatin accessibility has them: binary and sparse."""

from typing import Any, NamedTuple

import numpy as np

from topicloom._types import FloatArray, Int32Array, Int64Array
from topicloom.corpus._checks import check_number, read_only
from topicloom.corpus._streams import pointers
from topicloom.corpus.corpus import Corpus
from topicloom.datasets.synthetic import _check_sizes, _dirichlet, _generator
from topicloom.errors import MissingExtraError

_CELLS_AT_ONCE = 2048
_WIDTH, _GAP, _CHROMOSOMES = 500, 1000, 22


class SyntheticCells(NamedTuple):
    """Cells × regions and the truth that they were drawn from.

    Attributes
    ----------
    corpus : Corpus
        Cells are documents and regions are words.
    phi : array of float, shape (n_topics, n_regions)
        Region probabilities of each topic.
    theta : array of float, shape (n_cells, n_topics)
        Topic probabilities of each cell.

    Examples
    --------
    >>> from topicloom.datasets import synthetic_cells
    >>> truth = synthetic_cells(20, 60, 3, fragments_per_cell=10.0)
    >>> truth.phi.shape, truth.theta.shape
    ((3, 60), (20, 3))
    """

    corpus: Corpus
    phi: FloatArray  # [topics, regions]
    theta: FloatArray  # [cells, topics]

    def to_anndata(self) -> Any:
        """The same as an AnnData object: a CSR matrix of float32, with each cell's likeliest topic in ``obs["type"]``.

        Needs the extra ``cells``.

        Returns
        -------
        AnnData

        Examples
        --------
        >>> from topicloom.datasets import synthetic_cells
        >>> synthetic_cells(20, 60, 3, fragments_per_cell=10.0).to_anndata().shape
        (20, 60)
        """
        try:
            import anndata
            import pandas as pd
        except ImportError:
            raise MissingExtraError(
                "an AnnData object needs anndata; install it with pip install 'topicloom[cells]'."
            ) from None
        import scipy.sparse as sp

        corpus = self.corpus
        ones = np.ones(corpus.n_tokens, np.float32)
        pointers32 = corpus.doc_ptr.astype(np.int32) if corpus.n_tokens < 2**31 else corpus.doc_ptr
        shape = (corpus.n_docs, corpus.n_words)
        matrix = sp.csr_matrix((ones, corpus.words.copy(), pointers32), shape=shape)
        obs = pd.DataFrame({"type": pd.Categorical(corpus.groups)}, index=list(corpus.ids or ()))
        return anndata.AnnData(matrix, obs=obs, var=pd.DataFrame(index=list(corpus.vocabulary)))


def synthetic_cells(
    n_cells: int = 2000,
    n_regions: int = 5000,
    n_topics: int = 10,
    *,
    fragments_per_cell: float = 200.0,
    open_share: float = 0.05,
    background: float = 0.3,
    alpha: float = 0.1,
    seed: int = 0,
) -> SyntheticCells:
    """Binary cells × regions drawn from topics, as single-cell ATAC-seq gives them; made quickly, in little memory.

    A topic has regions of its own that are open, and shares a background of all regions. Fragments of a cell are drawn
    from its topics; a region counts once, however many fragments fall into it. So cells follow LDA up to these ties,
    which are few where cells have few fragments for the number of open regions.

    Parameters
    ----------
    n_cells, n_regions, n_topics : int, default=2000, 5000 and 10
    fragments_per_cell : float, default=200.0
        Mean number of fragments. Cells differ by about a factor of two in either direction (log-normal).
    open_share : float, default=0.05
        Share of the regions that are open in a topic.
    background : float, default=0.3
        Share of fragments that come from the background.
    alpha : float, default=0.1
        Dirichlet parameter of the cells' topics.
    seed : int, default=0

    Returns
    -------
    SyntheticCells
        ``corpus``, with cells as ``ids`` and each cell's likeliest topic as its group; ``phi`` [topics, regions] and
        ``theta`` [cells, topics]; ``to_anndata()`` gives the same as an AnnData object.

    Examples
    --------
    >>> from topicloom.datasets import synthetic_cells
    >>> data = synthetic_cells(100, 400, 4, fragments_per_cell=30.0, seed=1)
    >>> data.corpus.vocabulary[0], data.phi.shape
    ('chr1:1000-1500', (4, 400))
    """
    _check_sizes(n_cells=n_cells, n_regions=n_regions, n_topics=n_topics)
    check_number("fragments_per_cell", fragments_per_cell, 0.1, 1e6)
    check_number("open_share", open_share, 0.0, 1.0)
    check_number("background", background, 0.0, 1.0)
    check_number("alpha", alpha, 1e-6, 1e6)
    rng = _generator(seed)
    phi = _regions_of_topics(rng, n_topics, n_regions, open_share, background)
    theta = _dirichlet(rng, np.full((n_cells, n_topics), alpha))
    depth = rng.lognormal(-0.5 * 0.7**2, 0.7, n_cells) * fragments_per_cell  # the mean of the factor is 1
    words, ptr = _draw(rng, theta, phi, rng.poisson(depth))
    types = tuple(f"type{k}" for k in theta.argmax(axis=1))
    names = tuple(f"cell{d}" for d in range(n_cells))
    return SyntheticCells(Corpus(words, ptr, _region_names(n_regions), ids=names, groups=types), phi, theta)


def _regions_of_topics(
    rng: np.random.Generator, n_topics: int, n_regions: int, open_share: float, background: float
) -> FloatArray:
    """φ: regions of a topic's own, of unequal weights, above what all topics share."""
    shared = rng.gamma(1.0, size=n_regions)
    shared /= shared.sum()
    phi = np.empty((n_topics, n_regions))
    n_open = max(1, round(open_share * n_regions))
    for k in range(n_topics):
        own = rng.choice(n_regions, n_open, replace=False)
        weights = rng.gamma(2.0, size=n_open)
        phi[k] = background * shared
        phi[k, own] += (1 - background) * weights / weights.sum()
    return phi


def _draw(
    rng: np.random.Generator, theta: FloatArray, phi: FloatArray, lengths: Int64Array
) -> tuple[Int32Array, Int64Array]:
    """Distinct regions of each cell, ascending, and where each cell starts; some thousand cells at a time."""
    upper = np.cumsum(phi, axis=1)
    upper /= upper[:, -1:]
    n_regions, parts = phi.shape[1], []
    sizes = np.empty(len(theta), np.int64)
    for first in range(0, len(theta), _CELLS_AT_ONCE):
        rows = slice(first, first + _CELLS_AT_ONCE)
        counts = rng.multinomial(lengths[rows], theta[rows])
        keys = np.empty(int(counts.sum()), np.int64)
        done = 0
        for k, of_cells in enumerate(counts.T):
            cells = np.repeat(np.arange(len(of_cells)), of_cells)
            regions = np.searchsorted(upper[k], rng.random(len(cells)), side="right")
            keys[done : done + len(cells)] = cells * n_regions + np.minimum(regions, n_regions - 1)
            done += len(cells)
        keys.sort()
        distinct = keys[np.concatenate(([True], keys[1:] != keys[:-1]))] if len(keys) else keys
        sizes[rows] = np.bincount(distinct // n_regions, minlength=len(counts))
        parts.append((distinct % n_regions).astype(np.int32))
    return read_only(np.concatenate(parts)), pointers(sizes)


def _region_names(n_regions: int) -> tuple[str, ...]:
    """Regions of one width, equally far from each other, on chromosomes 1 to 22."""
    per_chromosome = -(-n_regions // _CHROMOSOMES)
    names = []
    for number in range(n_regions):
        chromosome, place = divmod(number, per_chromosome)
        start = (place + 1) * _GAP
        names.append(f"chr{chromosome + 1}:{start}-{start + _WIDTH}")
    return tuple(names)
