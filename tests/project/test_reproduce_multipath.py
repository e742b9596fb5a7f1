"""The reproduction of the multipath paper, and its benchmark, on small corpora."""

import gzip
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # reproduce/ and benchmarks/ are not part of the installed package

from benchmarks import multipath as benchmark
from reproduce import _multipath_sotu as sotu
from reproduce import multipath
from topicloom.corpus.formats import write
from topicloom.datasets import synthetic_lda


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Speeches of two years, three paragraphs each, in a folder of corpora."""
    (tmp_path / "sotu").mkdir()
    words = [f"word{chr(97 + i)}" for i in range(26)]
    rng = np.random.default_rng(0)
    with gzip.open(tmp_path / "sotu" / "texts.jsonl.gz", "wt", encoding="utf-8") as file:
        for year in (1790, 1791, 1793, 2014):
            # Forty common words are taken out, so that others must be left.
            common = " ".join(f"common{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(40))
            parts = [" ".join([common, common, *rng.choice(words, 12)]) for _ in range(3)]
            file.write(json.dumps({"year": year, "text": "\n\n".join(parts)}) + "\n")
    return tmp_path


def test_the_addresses_are_cut_into_paragraphs_of_years(data: Path) -> None:
    corpus = sotu.read(data)
    assert corpus.n_docs == 9  # 2014 is beyond the paper's years
    np.testing.assert_array_equal(np.unique(corpus.times), [1790, 1791, 1793])
    assert not any(word.startswith("common") for word in corpus.vocabulary)
    assert corpus.word_counts.min() >= 2


def test_topics_over_time(data: Path, tmp_path: Path) -> None:
    budget = sotu.Budget(4, 5, (0, 1), (1, 3))
    text = sotu.section(data, budget, tmp_path / "figures")
    assert "9 paragraphs" in text
    assert "mean length 0.2 years" in text  # four years, twenty buckets
    assert text.count("\n| 3, ") == 2
    assert "Entropy lower with 3 paths in every year: " in text
    assert (tmp_path / "figures" / "multipath_sotu.png").stat().st_size > 1000


def test_table_1_is_made_beside_the_papers_and_kept(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--data", str(data), "--sections", "table1", "--quick", "--cells", str(tmp_path / "cells.json")]
    multipath.main(command)
    first = capsys.readouterr().out
    assert "fits best" in first
    assert first.count("(1.12)") == 2  # at the best η and at 0.1
    kept = json.loads((tmp_path / "cells.json").read_text())
    assert len(kept) == 4 * 2 * 2 + 2 * 2 + 4 * 2
    multipath.main([*command, "--etas", "0.1"])
    again = capsys.readouterr().out
    assert again.split("**η = 0.1**")[1] == first.split("**η = 0.1**")[1]


def test_verdicts_follow_the_numbers() -> None:
    found = {
        f"eta=1 size={size} paths={m} sweeps=9 seed={seed}": disc * (1.0 if m > 1 else scale)
        for scale in (0.85,)
        for m, row in multipath.PAPER.items()
        for size, disc in zip(multipath.SIZES, row, strict=True)
        for seed in range(2)
    }
    options, _ = multipath.parse(["--data", ".", "--sections", "table1", "--runs", "2", "--sweeps", "9"])
    options.cells.found.update(found)
    text = multipath.table_at(1.0, options)
    assert "at every size: holds (1500: 28%" in text
    assert "| 5 | 0.69 ± 0.00 (0.69) |" in text
    options.cells.found.update({key: 0.9 for key in found if "size=9000 paths=5" in key})
    text = multipath.table_at(1.0, options)
    assert "at every size: DOES NOT HOLD" in text
    assert "More paths are always nearer: DOES NOT HOLD" in text


def test_the_hmm_is_a_program_of_its_own(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multipath, "find_spec", lambda name: None)
    multipath.main(["--data", str(data), "--sections", "hmm"])
    assert "reproduce.hmm is not there." in capsys.readouterr().out
    monkeypatch.setattr(multipath, "find_spec", lambda name: name)
    monkeypatch.setattr(multipath, "import_module", lambda name: SimpleNamespace(main=print))
    multipath.main(["--data", str(data), "--sections", "hmm", "--quick", "--figures", "here"])
    assert "['--figures', 'here', '--quick']" in capsys.readouterr().out


def test_a_missing_corpus_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        multipath.parse(["--data", str(tmp_path)])
    assert "has no folder sotu" in capsys.readouterr().err


def test_the_benchmark_divides_by_paths(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tiny").mkdir()
    corpus = synthetic_lda(20, 25, 3, doc_length=12.0, seed=2).corpus
    write(corpus, tmp_path / "tiny" / "docword.npz", vocabulary=tmp_path / "tiny" / "vocab.txt")
    command = ["--data", str(tmp_path), "--corpus", "tiny", "--topics", "3", "--sweeps", "2", "--settle", "1"]
    benchmark.main([*command, "--samplers", "dense", "partial"])
    assert "| partial | 3 |" in capsys.readouterr().out
    monkeypatch.setattr(benchmark, "compare", lambda *_: [1.0, 2.1, 6.0])
    benchmark.main([*command, "--samplers", "dense"])
    out = capsys.readouterr().out
    assert "| dense | 3 | 1000.0 | 1.05 | 1.20 |" in out
    assert "DOES NOT HOLD (at worst 1.20)" in out
