"""The multi-label reproduction and benchmark on a small synthetic corpus."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # reproduce/ and benchmarks/ are not part of the installed package

from benchmarks import multilabel
from reproduce import _label_samples, _prior_lda, prior_lda
from topicloom.corpus import split_documents
from topicloom.corpus.formats import write
from topicloom.datasets import synthetic_labeled
from topicloom.engine.estimator.label_sets import read_labels


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of corpora with one named tiny, half of it for testing."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "tiny").mkdir()
    corpus = synthetic_labeled(60, 40, 5, doc_length=20, seed=4).corpus
    write(corpus, folder / "tiny" / "docword.npz", vocabulary=folder / "tiny" / "vocab.txt")
    labels = [" ".join(own) for own in corpus.labels or ()]
    (folder / "tiny" / "labels.txt").write_text("\n".join(labels) + "\n")
    (folder / "tiny" / "split.txt").write_text("train\ntest\n" * 30)
    return folder


def test_every_section_runs(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prior_lda.main(["--data", str(data), "--corpora", "tiny", "--scale-corpora", "tiny", "--default-corpora", "tiny",
                    "--quick", "--runs", "2"])  # fmt: skip
    text = capsys.readouterr().out
    for title, _ in prior_lda.PARTS.values():
        assert f"### {title}" in text
    assert str(data) not in text
    assert text.count("| 5 × 30, CGS_p |") == 6
    assert "linear SVM, Meta-Labeler" in text
    assert "CGS_p without α above CVB0 with α at these numbers of samples" in text
    assert "| micro_f1, 1 × 1, ours |" in text


def test_missing_corpora_are_told(data: Path) -> None:
    with pytest.raises(SystemExit):
        prior_lda.main(["--data", str(data), "--corpora", "none"])


def test_methods_share_their_chains_and_verdicts_count() -> None:
    train, test = split_documents(synthetic_labeled(80, 40, 5, doc_length=20, seed=5).corpus, 0.4, seed=0)
    task = _prior_lda.prepare("bibtex", train, test)
    f = task.sets.frequencies
    np.testing.assert_allclose(task.alpha, 50 * f / f.sum() + 30 / 5)
    np.testing.assert_allclose(task.prior.alpha, 10.0)
    budget = _prior_lda.Budget(burn_in=10, thin=2, chains=2, samples=3)
    scores = _prior_lda.run(task, budget, seed=0)
    assert len(scores) == 2 * 5 * 2 * 3
    assert scores == _prior_lda.run(task, budget, seed=0)
    assert all(0 <= value <= 1 for value in scores.values())
    one, total = _prior_lda.train_gibbs(task, budget, 0)
    for estimator in ("standard", "cgs_p"):
        assert one[estimator].sum() == pytest.approx(train.n_tokens)
        assert total[estimator].sum() == pytest.approx(6 * train.n_tokens)
    text = "\n".join(_prior_lda.verdicts("bibtex", [dict.fromkeys(scores, 0.0)]))
    assert "Micro-F in the paper's own form: below by more than 0.03: CGS 1 × 1 (-0.2388)" in text
    assert "Macro-F in the paper's own form: below by more than 0.03: CGS 1 × 1 (-0.1582)" in text
    text = "\n".join(_prior_lda.verdicts("bibtex", [dict.fromkeys(scores, 0.5)]))
    for measure in ("Micro-F", "Macro-F"):
        assert f"{measure} in the paper's own form: all within 0.03 of the printed figures or above" in text


def test_ranks_and_the_z_test() -> None:
    """The printed figures give the printed marks in all but two of 60 cases."""
    assert _label_samples._rank([0.1, 0.3, 0.2, 0.3]) == [4.0, 1.5, 3.0, 1.5]
    assert _label_samples.differs([0.2472, 0.2761, 0.2700], 3181) == [True, False, False]
    wrong = 0
    for (name, measure), rows in _prior_lda.PRINTED.items():
        for values, marks in zip(rows, _label_samples.MARKS[name, measure], strict=True):
            own = _label_samples.differs(values, _label_samples._TEST_DOCS[name])
            wrong += sum((mark == "1") != is_worse for mark, is_worse in zip(marks, own, strict=True))
    assert wrong == 2


def test_the_benchmark_runs(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    multilabel.main(["--data", str(data), "--corpus", "tiny", "--sweeps", "3", "--timed-sweeps", "2"])
    text = capsys.readouterr().out
    assert "times the second" in text
    assert "30 new documents" in text
    assert str(data) not in text


def test_renumbered_labels_are_as_many_for_each_document() -> None:
    _, sets = read_labels(None, synthetic_labeled(30, 20, 6, seed=1).corpus)
    few = multilabel.renumbered(sets)
    np.testing.assert_array_equal(few.sizes, sets.sizes)
    assert few.n_labels == sets.sizes.max()
    assert few.label.max() < few.n_labels
