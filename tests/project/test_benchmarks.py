"""The benchmarks' own computations: goals, curves, programs run through files, verdicts, reports."""

import csv
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import (
    _common,
    _field,
    _programs,
    _races,
    _tools,
    cells,
    crossover,
    lda,
    memory,
    scaling,
    shards,
    tokenise,
)
from topicloom import Corpus
from topicloom.corpus.formats import write
from topicloom.corpus.stored import load_corpus, save_corpus
from topicloom.datasets import synthetic_cells, synthetic_lda
from topicloom.engine.sampler import Key
from topicloom.errors import InputError
from topicloom.lda.gibbs import get_sampler, sampler_names


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return synthetic_lda(30, 25, 3, doc_length=12.0, seed=2).corpus


@pytest.fixture
def data(corpus: Corpus, tmp_path: Path) -> Path:
    """A folder of corpora with one named tiny."""
    (tmp_path / "data" / "tiny").mkdir(parents=True)
    write(corpus, tmp_path / "data" / "tiny" / "docword.npz", vocabulary=tmp_path / "data" / "tiny" / "vocab.txt")
    return tmp_path / "data"


# -- lda -------------------------------------------------------------------------------------------------------------


def test_the_time_to_a_goal_is_read_off_the_curve() -> None:
    curve = lda.Curve("x", points=[lda.Point(0, 0.0, -9.0), lda.Point(1, 2.0, -8.0), lda.Point(2, 3.0, -7.0)])
    assert curve.seconds_to(-8.5) == 1.0
    assert curve.seconds_to(-7.25) == 2.75
    assert curve.seconds_to(-9.5) == 0.0
    assert curve.seconds_to(-6.9) is None


def test_one_program_computes_every_likelihood(corpus: Corpus) -> None:
    for sampler in sampler_names():
        kernel, prior = get_sampler(sampler), _tools.fixed_prior(corpus, 4)
        state = kernel.init(corpus, prior, Key(_tools.SEED, 0, 0))
        expected = kernel.log_joint(corpus, state, prior) / corpus.n_tokens
        found = _tools.likelihood(corpus, _tools.Ours(sampler, corpus, 4).topics(), 4)
        assert found == pytest.approx(expected, rel=1e-12)


def test_shuffled_documents_have_their_words_in_another_order(corpus: Corpus) -> None:
    found = _tools.shuffled(corpus)
    assert (found.to_matrix() != corpus.to_matrix()).nnz == 0
    assert not np.array_equal(found.words, corpus.words)


def test_a_race_without_rivals(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_field, "find_spec", lambda name: None)
    monkeypatch.setattr(lda, "peak_of", lambda *_: 7_000_000)
    lda.main(
        ["--data", str(data), "--corpus", "tiny", "--topics", "3", "5", "--threads", "1", "2", "--sweeps", "7",
         "--every", "2", "--thread-turns", "2", "--samplers", "dense", "sparse", "--shuffled",
         "--out", str(tmp_path / "out")]
    )  # fmt: skip
    text = (tmp_path / "out" / "lda.md").read_text()
    assert "tomotopy takes no part, so the goal is set by our first sampler" in text
    assert "is where dense is after 7 sweeps" in text
    assert str(data) not in text
    assert "equal shards gave equal bits" in text
    assert all(f"| {k} | {name} | 2 | {n} |" in text for k in (3, 5) for name in ("dense", "sparse") for n in (1, 2))
    assert "| 7 |" in text  # MB
    with (tmp_path / "out" / "lda.csv").open() as file:
        rows = list(csv.DictReader(file))
    dense = [int(row["sweep"]) for row in rows if (row["tool"], row["topics"]) == ("dense", "3")]
    assert dense == [0, 1, 2, 3, 4, 6, 7]
    assert all(float(row["log_joint_per_token"]) < 0 for row in rows)
    assert (tmp_path / "out" / "lda.png").read_bytes().startswith(b"\x89PNG")


def test_who_is_late_goes_on_until_the_seconds_are_used_up(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    race = lda.Race(corpus, 3, ["dense", "sparse"])
    monkeypatch.setattr(_races, "timed", lambda do, clock: do() or 1.0)  # every sweep takes a second
    assert race.run(100, every=1, cap=10.0) == 5
    race.curves["dense"].points[-1] = lda.Point(5, 5.0, 0.0)  # as if it had reached everything
    race.catch_up(-0.5, seconds=9.0, every=1)
    assert len(race.curves["dense"].seconds) == 5
    assert len(race.curves["sparse"].seconds) == 9


def test_topics_that_depend_on_threads_are_noticed(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(lda.race_threads(corpus, 3, ["dense"], [1, 2], 1, 5)) == 4
    real = lda.start

    def unlike(name: str, corpus: Corpus, n_topics: int, n_shards: int = 1, n_threads: int = 1) -> _tools.Tool:
        return real(name, corpus, n_topics, n_shards + n_threads - 1, n_threads)

    monkeypatch.setattr(lda, "start", unlike)
    with pytest.raises(AssertionError, match="depend on the number of threads"):
        lda.race_threads(corpus, 3, ["dense"], [1, 2], 2, 5)


def test_tomotopy_starts_from_the_same_tokens(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tomotopy")
    monkeypatch.setattr(lda, "peak_of", lambda *_: 0)
    corpus = _tools.read(data, "tiny")
    chain = _tools.Tomotopy(corpus, 4)
    np.testing.assert_array_equal(chain.words(corpus), corpus.words)
    before = _tools.likelihood(corpus, chain.topics(), 4)
    for _ in range(30):
        chain.sweep()
    assert _tools.likelihood(corpus, chain.topics(), 4) > before
    # Its own figure is of the same quantity, in single precision; it knows only the words that occur.
    occurring = corpus.with_vocabulary([corpus.vocabulary[v] for v in np.flatnonzero(corpus.word_counts)])
    assert chain._model.ll_per_word == pytest.approx(_tools.likelihood(occurring, chain.topics(), 4), rel=1e-4)
    lda.main(
        ["--data", str(data), "--corpus", "tiny", "--topics", "3", "--sweeps", "5", "--samplers", "dense",
         "--rivals", "tomotopy", "--out", str(tmp_path)]
    )  # fmt: skip
    assert "is where tomotopy is after 5 sweeps" in (tmp_path / "lda.md").read_text()


def test_unknown_samplers_and_sizes_are_refused(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong, message in (
        (["--samplers", "fast"], "--samplers fast: there are auto"),
        (["--sweeps", "0"], "at least"),
    ):
        with pytest.raises(SystemExit):
            lda.parse(["--data", str(data), *wrong])
        assert message in capsys.readouterr().err


# -- programs --------------------------------------------------------------------------------------------------------

STUB = f"""#!{sys.executable}
import json, sys
from pathlib import Path
arguments = dict(zip(sys.argv[1:], sys.argv[2:]))
here = Path(__file__).parent
with (here / "calls.jsonl").open("a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
"""
MALLET = """
import gzip
if sys.argv[1] == "train-topics":
    Path(arguments["--output-state"]).write_bytes((here / "state.gz").read_bytes())
"""
WARP = """
if "--prefix" in arguments:
    Path(arguments["--prefix"] + ".z.estimate").write_bytes((here / "z").read_bytes())
"""


def stub(path: Path, code: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(STUB + code)
    path.chmod(0o755)


def calls(folder: Path) -> list[list[str]]:
    return [json.loads(line) for line in (folder / "calls.jsonl").read_text().splitlines()]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def test_mallet_is_run_through_its_files(corpus: Corpus, tmp_path: Path, work: Path) -> None:
    stub(tmp_path / "bin" / "mallet", MALLET)
    program = _programs.Mallet(tmp_path, corpus, work)
    full = corpus.select(np.flatnonzero(corpus.doc_lengths))
    z = np.arange(full.n_tokens) % 3
    lines = ["#doc source pos typeindex type topic", "#alpha : 0.1 0.1 0.1", "#beta : 0.01"]
    lines += [
        f"{d} NA 0 {v} word{v} {k}" for d, v, k in zip(full.token_docs, full.words, z, strict=True)
    ]  # fmt: skip
    (tmp_path / "bin" / "state.gz").write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))
    run = program.run(3, 20)
    assert run.likelihood == pytest.approx(_tools.likelihood(full, z, 3), rel=1e-12)
    assert run.seconds > 0
    assert run.peak > 1e6
    imported, trained = calls(tmp_path / "bin")
    assert imported[0] == "import-file"
    assert float(trained[trained.index("--alpha") + 1]) == pytest.approx(0.3)  # MALLET's is the sum
    assert trained[trained.index("--num-iterations") + 1] == "20"
    with pytest.raises(InputError, match="give the path of bin/mallet"):
        _programs.Mallet(tmp_path / "nowhere", corpus, work)


def test_warplda_is_run_through_its_files(corpus: Corpus, tmp_path: Path, work: Path) -> None:
    for name in ("format", "warplda"):
        stub(tmp_path / "warp" / name, WARP)
    program = _programs.WarpLDA(tmp_path / "warp", corpus, work)
    full = corpus.select(np.flatnonzero(corpus.doc_lengths))
    z = (np.arange(full.n_tokens) * 7) % 3
    rng = np.random.default_rng(0)
    other = rng.permutation(corpus.n_words)  # its own numbers of the words, its own order of documents
    lines = []
    for d in rng.permutation(full.n_docs):
        tokens = range(full.doc_ptr[d], full.doc_ptr[d + 1])
        lines.append(f"{len(tokens)} " + " ".join(f"{other[full.words[i]]}:{z[i]}" for i in tokens))
    (tmp_path / "warp" / "z").write_text("\n".join(lines) + "\n")
    assert program.run(3, 10).likelihood == pytest.approx(_tools.likelihood(full, z, 3), rel=1e-12)
    (tmp_path / "warp" / "z").write_text("\n".join(lines[1:]) + "\n")
    with pytest.raises(InputError, match="has other documents than the corpus"):
        program.run(3, 10)
    with pytest.raises(InputError, match="there is no program format"):
        _programs.WarpLDA(tmp_path, corpus, work)


def test_a_program_that_fails_is_reported(corpus: Corpus, tmp_path: Path, work: Path) -> None:
    stub(tmp_path / "bin" / "mallet", "sys.exit('no Java here')")
    with pytest.raises(InputError, match=r"failed with code 1: no Java here"):
        _programs.Mallet(tmp_path, corpus, work)


def test_what_a_program_takes_beyond_its_sweeps_drops_out() -> None:
    class Made:
        def run(self, n_topics: int, sweeps: int) -> _programs.Run:
            return _programs.Run(sweeps, 5.0 + 0.25 * sweeps, -1.0 / sweeps, sweeps)

    found = _programs.trace(Made(), 3, [100, 10, 50])
    assert found.points == [(10, 2.5, -0.1), (50, 12.5, -0.02), (100, 25.0, -0.01)]
    assert (found.per_sweep, found.peak) == (0.25, 100)


# -- scaling, crossover, memory --------------------------------------------------------------------------------------


def test_growth_that_is_not_linear_is_named() -> None:
    def cells(power: float) -> list[scaling.Cell]:
        return [scaling.Cell("auto", n, 10, 1.0, 1e-7 * n**power) for n in (10**5, 10**6, 10**7)]

    assert scaling.exponent(cells(1.0)) == pytest.approx(1.0)
    assert scaling.verdicts(cells(1.05)) == ["auto, K = 10: time grows as tokens to the power of 1.05, linear."]
    assert scaling.verdicts(cells(1.5)) == ["auto, K = 10: time grows as tokens to the power of 1.50, NOT linear."]


def test_scaling_leaves_out_what_would_take_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(corpus: Corpus, sampler: str, n_topics: int, *_: Any) -> scaling.Cell:
        return scaling.Cell(
            sampler, corpus.n_tokens, n_topics, 1e-6 * n_topics * corpus.n_tokens, 1e-7 * corpus.n_tokens
        )

    monkeypatch.setattr(scaling, "measure", made)
    scaling.main(
        ["--tokens", "1e3", "1e4", "2e4", "--topics", "2", "50", "--words", "100", "--settle", "1", "--sweeps", "1",
         "--seconds-cap", "0.5", "--out", str(tmp_path)]
    )  # fmt: skip
    text = (tmp_path / "scaling.md").read_text()
    assert "| auto | 2 | 20,000 | 2000 | 0.002 | 100 |" in text
    assert "auto, K = 50, 10,000 tokens: about 1 s; auto, K = 50, 20,000 tokens" in text
    assert "K = 2: time grows as tokens to the power of 1.00, linear" in text
    assert (tmp_path / "scaling.png").stat().st_size > 1000


def test_a_curve_and_a_figure_for_each_thing_that_varies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(corpus: Corpus, sampler: str, n_topics: int, *_: Any) -> scaling.Cell:
        per_sweep = 1e-9 * n_topics * corpus.n_tokens
        return scaling.Cell(sampler, corpus.n_tokens, n_topics, per_sweep, per_sweep)

    monkeypatch.setattr(scaling, "measure", made)
    monkeypatch.setattr(scaling, "warm_up", lambda *_: 0.0)
    scaling.main(
        ["--curves", "--tokens", "1e4", "--topics", "3", "7", "--words", "120", "--lengths", "100", "1e3", "1e4",
         "--vocabularies", "100", "2e4", "--many-topics", "2", "9", "1e7", "--seconds-cap", "1e-3", "--out",
         str(tmp_path)]
    )  # fmt: skip
    text = (tmp_path / "scaling_curves.md").read_text()
    assert "| 1,000 | auto | 7 | 119 | 1,000 | 7 | 7 |" in text or "| 1,000 | auto | 7 | 120 | 1,000 | 7 | 7 |" in text
    assert "10,000 tokens per document: fewer than two documents" in text
    assert "auto, K = 10,000,000, 10,000,000 topics: more than 0 s" in text
    (sizes,) = [row for row in text.splitlines() if row.startswith("| 20,000 | auto | 3 |")]
    assert 500 < int(sizes.split("|")[4].replace(",", "")) < 10_000  # words that occur
    for kind in scaling.CURVES:
        assert (tmp_path / f"scaling_curves_{kind}.png").stat().st_size > 1000


def test_scaling_measures_sweeps(corpus: Corpus) -> None:
    cell = scaling.measure(corpus, "auto", 3, 0.1, 1, 2, 1, "wall")
    assert (cell.n_tokens, cell.n_topics) == (corpus.n_tokens, 3)
    assert cell.per_token == pytest.approx(cell.settled / corpus.n_tokens * 1e9)
    assert cell.settled > 0


def test_the_crossover_fits_a_formula_to_each_sampler(corpus: Corpus) -> None:
    def times(k: int, length: float, topics: float, far: float) -> dict[str, float]:
        return {"dense": 50.0 + (1 + 2 * far) * k, "sparse": 30 + 2 * length, "words": 80 + topics}

    readings = [
        crossover.Reading("x", k, 0, length, topics, far, times(k, length, topics, far), "dense")
        for k in (10, 100)
        for length, topics in ((3.0, 9.0), (8.0, 2.0), (40.0, 20.0))
        for far in (0.0, 0.5, 0.9)
    ]
    assert crossover.formulas(readings) == {
        "dense": pytest.approx((50, 1, 2)), "sparse": pytest.approx((30, 2)), "words": pytest.approx((80, 1)),
    }  # fmt: skip
    assert readings[0].quickest == "sparse"
    assert readings[0].loss == pytest.approx(60 / 36)
    told = "Fitted: dense 50 + (1.00 + 2.00 F) K, sparse 30 + 2.00 L, words 80 + 1.00 T"
    assert told in crossover.report(readings)
    given = ["--a", "1", "--data", "/x/y", "--b", "--out", "/x/z", "--c"]
    assert _common.without_paths(given) == "--a 1 --data DATA --b --c"
    found = crossover.measure("tiny", corpus, 3, [0, 2], 1, "wall")
    assert [reading.sweep for reading in found] == [0, 2]
    assert all(0 < reading.length <= 3 and reading.loss >= 1 for reading in found)


def test_memory_compares_the_two_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def here(name: str, arguments: list[str], file: Path) -> dict[str, Any]:
        given = memory.parse([*arguments, "--file", str(file)])
        if name == "make":
            save_corpus(memory.make(given.tokens), file, mapped=True)
            return {}
        return memory.fit(given, memory.make(given.tokens) if name == "memory" else load_corpus(file))

    monkeypatch.setattr(memory, "run_child", here)
    memory.main(["--tokens", "2e4", "--topics", "5", "--sweeps", "2", "--out", str(tmp_path), "--limit", "3e8"])
    text = (tmp_path / "memory.md").read_text()
    assert "| in files, limit 0.30 GB |" in text
    assert "in files; up to" in text
    assert "the same, bit for bit" in text


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured on Linux")
def test_peaks_of_memory_can_be_forgotten() -> None:
    block = np.ones(40_000_000, np.uint8)
    before = _common.resident("VmHWM")
    assert before >= _common.resident() >= block.nbytes
    with memory.Watch() as watch:
        pass
    assert watch.largest >= block.nbytes
    del block
    _common.forget_peak()
    assert _common.resident("VmHWM") < before - 30_000_000
    with pytest.raises(InputError, match="has no VmNothing"):
        _common.resident("VmNothing")


# -- shards ----------------------------------------------------------------------------------------------------------


def test_shards_are_compared_piece_by_piece(corpus: Corpus, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, seconds = shards.compare(corpus, 3, 2, settle=2, rounds=3)
    assert name == "dense"
    assert seconds.shape == (3, shards.PIECES, 2)
    assert np.all(seconds > 0)
    shards.main(["--data", str(data), "--corpus", "tiny", "--topics", "3", "600", "--settle", "1", "--rounds", "1"])
    text = capsys.readouterr().out
    assert "| tiny | 3 | dense |" in text
    assert "| tiny | 600 | sparse |" in text
    assert str(data) not in text
    with pytest.raises(SystemExit):
        shards.main(["--data", str(data), "--shards", "1"])


# -- cells -----------------------------------------------------------------------------------------------------------


def test_a_tool_is_measured_from_the_file_to_topics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("anndata", reason="the benchmark writes h5ad files")
    data = synthetic_cells(40, 60, 3, fragments_per_cell=10.0)
    assert cells.matrix_bytes(data.corpus) == 8 * data.corpus.n_tokens + 4 * 41
    assert len({cells.letters(number) for number in range(5000)}) == 5000
    data.to_anndata().write_h5ad(tmp_path / "a.h5ad")
    files = ["--file", str(tmp_path / "a.h5ad"), "--small", str(tmp_path / "a.h5ad")]
    cells.main(["--topics", "3", "--sweeps", "2", "--child", "topicloom, from the file", *files])
    found = json.loads(capsys.readouterr().out)
    assert len(found["seconds"]) == 2
    assert found["peak"] >= 0
    theta, adata = cells.ours_in_memory(tmp_path / "a.h5ad", 3, 2)
    np.testing.assert_array_equal(theta, cells.ours_from_file(tmp_path / "a.h5ad", 3, 2))
    assert [row.tolist() for row in cells.rows_of(tmp_path / "a.h5ad")] == [row.indices.tolist() for row in adata.X]


# -- tokenise --------------------------------------------------------------------------------------------------------


def test_the_benchmark_of_texts_compares_the_same_corpora(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with gzip.open(tmp_path / "texts.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": f"word{i % 3} river"}) + "\n" for i in range(20))
    tokenise.main(["--data", str(tmp_path / "texts.jsonl.gz"), "--repeat", "2", "--rounds", "1"])
    out = capsys.readouterr().out
    assert "40 texts" in out
    assert "times as fast" in out
