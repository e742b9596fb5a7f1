"""Topics of cells: results back to AnnData, topics cut to sets of features or cells, regions as BED files."""

from topicloom.cells.annotate import annotate
from topicloom.cells.binarize import Sets, cell_sets, feature_sets, otsu_threshold
from topicloom.cells.regions import Region, parse_region, write_bed, write_region_sets

__all__ = [
    "Region",
    "Sets",
    "annotate",
    "cell_sets",
    "feature_sets",
    "otsu_threshold",
    "parse_region",
    "write_bed",
    "write_region_sets",
]
