"""The reproduction and the benchmark of compound LDA on small synthetic corpora."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # reproduce/ and benchmarks/ are not part of the installed package

from benchmarks import compound
from reproduce import _compound_synthetic, compound_lda
from topicloom.corpus.formats import write
from topicloom.datasets import synthetic_compound


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders with the corpora's names, each with a small corpus in two collections."""
    folder = tmp_path_factory.mktemp("data")
    for name, labels in (("yelp", ("1", "5")), ("nips_years", ("1988", "1998"))):
        (folder / name).mkdir()
        corpus = synthetic_compound(2, 30, 60, 4, doc_length=20, seed=4).corpus
        write(corpus, folder / name / "docword.npz", vocabulary=folder / name / "vocab.txt")
        (folder / name / "collection.txt").write_text("\n".join(np.repeat(labels, 30)) + "\n")
    return folder


def test_every_section_runs(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compound_lda.main(["--data", str(data), "--corpora", "yelp", "nips_years", "--quick"])
    text = capsys.readouterr().out
    for title, _ in compound_lda.PARTS.values():
        assert f"### {title}" in text
    assert str(data) not in text
    assert "| MGS, one step per sweep |" in text
    assert "| topic | 1987-1990 | 1997-1999 | P(rises) |" in text
    assert "1 collections" not in text


def test_topics_are_matched_one_to_one() -> None:
    truth = np.eye(3)
    found = np.array([[0.1, 0.8, 0.1], [0.45, 0.5, 0.05], [0.0, 0.1, 0.9]])
    assert _compound_synthetic.aligned(found, truth).tolist() == [1, 0, 2]


def test_the_benchmark_reports(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compound.main(["--data", str(data), "--corpus", "yelp", "--topics", "3", "--samplers", "dense", "--sweeps", "2"])
    text = capsys.readouterr().out
    assert "--data DATA" in text
    assert "| dense |" in text
    assert "2 collections" in text
