"""The study and the benchmark of supervised topics on small synthetic corpora."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # reproduce/ and benchmarks/ are not part of the installed package

from benchmarks import medlda
from reproduce import _light_medlda, light_medlda
from topicloom.corpus.formats import write
from topicloom.datasets import synthetic_labeled, synthetic_lda


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of corpora: three classes, label sets, numbers."""
    folder = tmp_path_factory.mktemp("data")
    made = synthetic_lda(60, 40, 3, doc_length=20.0, alpha=0.3, seed=4)
    sets = synthetic_labeled(60, 40, 4, doc_length=20, seed=5).corpus
    for name, corpus in (("classes", made.corpus), ("sets", sets), ("numbers", made.corpus)):
        (folder / name).mkdir()
        write(corpus, folder / name / "docword.npz", vocabulary=folder / name / "vocab.txt")
    classes = [f"c{k}" for k in made.theta.argmax(axis=1)]
    (folder / "classes" / "labels.txt").write_text("\n".join(classes) + "\n")
    (folder / "sets" / "labels.txt").write_text("\n".join(" ".join(own) for own in sets.labels or ()) + "\n")
    (folder / "numbers" / "response.txt").write_text("\n".join(f"{x:.4f}" for x in made.theta[:, 0]) + "\n")
    for name in ("classes", "sets"):
        (folder / name / "split.txt").write_text("train\ntest\n" * 30)
    return folder


@pytest.mark.filterwarnings("ignore::topicloom.errors.LostClassesWarning")
def test_every_section_runs(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    light_medlda.main(
        ["--data", str(data), "--classes", "classes", "--pair", "c0", "c1", "--labels", "sets", "--numbers", "numbers",
         "--others", "--repeated", "classes", "--quick", "--runs", "2"]
    )  # fmt: skip
    text = capsys.readouterr().out
    for title, _ in light_medlda.PARTS.values():
        assert f"### {title}" in text
    assert str(data) not in text
    assert text.count("±") > 20


def test_missing_corpora_are_told(data: Path) -> None:
    with pytest.raises(SystemExit):
        light_medlda.main(["--data", str(data), "--classes", "none"])
    with pytest.raises(SystemExit):
        light_medlda.main(["--data", str(data), "--runs", "0"])


def test_the_papers_settings() -> None:
    model = _light_medlda.classifier(20, 25, 102.4)
    assert model.weight_precision == pytest.approx(4096)
    assert not model.calibrate
    assert model.doc_topic_prior == pytest.approx(0.32)
    assert model._sampling() == {"n_mh": 6, "n_gibbs": 2, "composition": "mixture"}
    assert model.topic_word_prior == 0.01


def test_the_benchmark_runs(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tomotopy")
    medlda.main(["--data", str(data), "--corpus", "classes", "--topics", "3", "5", "--skip", "1", "--rounds", "2"])
    text = capsys.readouterr().out
    assert "LightMedLDA (C++)" in text
    assert "threads, 2 shards" in text
    assert str(data) not in text
    assert np.isfinite(float(text.split("| mh, K = 5 | ")[1].split(" ")[0]))
