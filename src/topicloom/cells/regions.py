"""Genomic regions from their names, and BED files of them."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicloom.cells.binarize import Sets
from topicloom.corpus._checks import as_numbers, check_length, items, shown
from topicloom.corpus._lines import replacing
from topicloom.errors import InputError
from topicloom.files.arrays import as_path

_REGION = re.compile(r"(?P<chromosome>[^\s:]+)(?::|-|_)(?P<start>\d{1,12})(?:-|_)(?P<end>\d{1,12})", re.ASCII)
_FORMS = "'chr1:100-200', 'chr1-100-200' or 'chr1_100_200'"


class Region(NamedTuple):
    """Part of a chromosome, from ``start`` up to but not including ``end``, counted from 0 as in BED files.

    Attributes
    ----------
    chromosome : str
    start : int
    end : int

    Examples
    --------
    >>> from topicloom.cells import Region
    >>> region = Region("chr1", 100, 200)
    >>> region.end - region.start
    100
    """

    chromosome: str
    start: int
    end: int


def parse_region(name: Any) -> Region:
    """The region that a name stands for.

    Parameters
    ----------
    name : str
        ``chr1:100-200``, ``chr1-100-200`` or ``chr1_100_200``. The numbers are taken as they are.

    Returns
    -------
    Region

    Examples
    --------
    >>> from topicloom.cells import parse_region
    >>> parse_region("chr1:100-200")
    Region(chromosome='chr1', start=100, end=200)
    """
    found = _REGION.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        raise InputError(
            f"{shown(name)} is not the name of a region; expected {_FORMS}. Genes have no place in a BED file: "
            "use the table of their sets."
        )
    start, end = int(found["start"]), int(found["end"])
    if start >= end:
        raise InputError(f"the region {shown(name)} ends at {end}, not after its start; expected {_FORMS}.")
    return Region(found["chromosome"], start, end)


def write_bed(path: Any, regions: Sequence[str], scores: Any = None) -> Path:
    """Write regions as a BED file, sorted by chromosome and start.

    Parameters
    ----------
    path : path
        The file; a name that ends in ``.gz`` is gzipped.
    regions : sequence of str
        Names, as :func:`parse_region` reads them. They become the fourth column.
    scores : array of numbers of 0 or more, default=None
        One per region. The fifth column has them as whole numbers from 0 to 1000, 1000 for the highest.

    Returns
    -------
    Path

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from topicloom.cells import write_bed
    >>> file = write_bed(Path(mkdtemp()) / "open.bed", ["chr1:100-200", "chr1:20-80"], [1.0, 0.5])
    >>> [line.split() for line in file.read_text().splitlines()]
    [['chr1', '20', '80', 'chr1:20-80', '500'], ['chr1', '100', '200', 'chr1:100-200', '1000']]
    """
    names = items("regions", regions)
    parsed = [parse_region(name) for name in names]
    columns: list[Sequence[Any]] = [names]
    if scores is not None:
        columns.append(_bed_scores(scores, len(names)).tolist())
    rows = sorted(zip(parsed, *columns, strict=True))
    target = as_path(path)
    with replacing(target) as file:
        for region, *more in rows:
            file.write("\t".join(map(str, (*region, *more))).encode() + b"\n")
    return target


def _bed_scores(scores: Any, n: int) -> Any:
    numbers = as_numbers("scores", scores).ravel()
    check_length("scores", len(numbers), n, "regions")
    if n and not (np.all(np.isfinite(numbers)) and numbers.min() >= 0):
        raise InputError("scores must be finite numbers of 0 or more.")
    most = numbers.max(initial=0.0)
    return np.rint(1000 * numbers / most).astype(int) if most > 0 else np.zeros(n, int)


def write_region_sets(folder: Any, sets: Sets) -> list[Path]:
    """Write one BED file per topic, ``topic_0.bed`` and so on, with its regions and their scores.

    Every name is checked before the first file is written. The folder is made if it does not exist.

    Parameters
    ----------
    folder : path
    sets : Sets
        The result of :func:`feature_sets`.

    Returns
    -------
    list of Path
        One per topic, in their order. Files are numbered, also if topics have names.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from topicloom import LDA, cells
    >>> from topicloom.datasets import synthetic_cells
    >>> model = LDA(3, max_iter=20, random_state=0).fit(synthetic_cells(200, 300, 3, fragments_per_cell=40.0).corpus)
    >>> [file.name for file in cells.write_region_sets(mkdtemp(), cells.feature_sets(model))]
    ['topic_0.bed', 'topic_1.bed', 'topic_2.bed']
    """
    if not isinstance(sets, Sets) or sets.of != "feature":
        raise InputError("sets must be those of features, as topicloom.cells.feature_sets gives them.")
    for name in sets.names:
        parse_region(name)
    target = as_path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{target} cannot be made a folder: {error.strerror or error}.") from None
    files = []
    for k in range(len(sets.topics)):
        rows = np.flatnonzero(sets.chosen[:, k])
        scores = np.maximum(sets.scores[rows, k], 0.0)
        files.append(write_bed(target / f"topic_{k}.bed", [sets.names[i] for i in rows], scores))
    return files
