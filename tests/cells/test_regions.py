"""Names of regions, and BED files."""

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from topicloom import cells
from topicloom.cells import Region, Sets, parse_region, write_bed, write_region_sets
from topicloom.errors import InputError


@pytest.mark.parametrize(
    ("name", "region"),
    [
        ("chr1:100-200", Region("chr1", 100, 200)),
        ("chr1-100-200", Region("chr1", 100, 200)),
        ("chr1_100_200", Region("chr1", 100, 200)),
        ("X:0-1", Region("X", 0, 1)),
        ("chrUn_KI270742v1:5-60", Region("chrUn_KI270742v1", 5, 60)),
        ("chrUn_KI270742v1_5_60", Region("chrUn_KI270742v1", 5, 60)),
        ("HLA-DRB1*15-5-60", Region("HLA-DRB1*15", 5, 60)),
    ],
)
def test_regions_are_read_from_names(name: str, region: Region) -> None:
    assert parse_region(name) == region


@pytest.mark.parametrize(
    "name", ["MYC", "chr1", "chr1:100", "chr1:200-100", "chr1:5-5", "chr1:-5-10", "chr1:1.5-2", "a b:1-2", "", 3, None]
)
def test_other_names_are_refused(name: object) -> None:
    with pytest.raises(InputError, match="expected 'chr1:100-200'"):
        parse_region(name)


def test_bed_files_are_sorted_and_scored(tmp_path: Path) -> None:
    regions = ["chr2:5-9", "chr1:100-200", "chr1:20-80"]
    path = write_bed(tmp_path / "a.bed", regions, [0.0, 2.0, 0.5])
    assert (
        path.read_text()
        == "chr1\t20\t80\tchr1:20-80\t250\nchr1\t100\t200\tchr1:100-200\t1000\nchr2\t5\t9\tchr2:5-9\t0\n"
    )
    packed = write_bed(tmp_path / "a.bed.gz", regions[:1])
    assert gzip.decompress(packed.read_bytes()) == b"chr2\t5\t9\tchr2:5-9\n"
    assert write_bed(tmp_path / "none.bed", []).read_text() == ""
    for scores, message in (([1.0], "scores has 1 entry"), ([1, -1, 0], "0 or more"), ([1, np.nan, 0], "finite")):
        with pytest.raises(InputError, match=message):
            write_bed(tmp_path / "b.bed", regions, scores)
    assert not (tmp_path / "b.bed").exists()


def test_a_file_per_topic(tmp_path: Path) -> None:
    names = ("chr1:0-5", "chr1:9-12", "chr3:1-2")
    scores = np.array([[2.0, -0.1], [1.0, 4.0], [0.0, 0.0]])
    sets = Sets("feature", names, ("a/b", "topic_1"), scores, scores > 0, np.zeros(2))
    files = write_region_sets(tmp_path / "new" / "out", sets)
    assert [file.name for file in files] == ["topic_0.bed", "topic_1.bed"]
    assert files[0].read_text() == "chr1\t0\t5\tchr1:0-5\t1000\nchr1\t9\t12\tchr1:9-12\t500\n"
    with pytest.raises(InputError, match="'MYC' is not the name of a region"):
        write_region_sets(tmp_path / "genes", replace(sets, names=(*names[:2], "MYC")))
    assert not (tmp_path / "genes").exists()
    with pytest.raises(InputError, match="must be those of features"):
        write_region_sets(tmp_path, replace(sets, of="cell"))
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made a folder"):
        cells.write_region_sets(tmp_path / "file", sets)
