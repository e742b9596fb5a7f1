"""The benchmark of the field: corpora by name, counts read off probabilities, goals, what is left out."""

import csv
import gzip
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import _common, _corpora, _field, _programs, _tools, lda
from benchmarks._races import Curve, Point
from tests.project.test_benchmarks import MALLET, calls, stub
from topicloom import Corpus
from topicloom.corpus.formats import write
from topicloom.datasets import synthetic_lda
from topicloom.errors import InputError, MissingExtraError


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return synthetic_lda(30, 25, 3, doc_length=12.0, seed=2).corpus


@pytest.fixture
def data(corpus: Corpus, tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "tiny"
    folder.mkdir(parents=True)
    write(corpus, folder / "docword.npz", vocabulary=folder / "vocab.txt")
    return tmp_path / "data"


# -- corpora ---------------------------------------------------------------------------------------------------------


def test_corpora_have_the_words_that_occur(data: Path, corpus: Corpus) -> None:
    assert _corpora.named("tiny", data).n_tokens == corpus.n_tokens
    part = _corpora.named("tiny", data, most=100)
    assert 60 < part.n_tokens <= 100
    assert part.n_words == np.count_nonzero(part.word_counts)
    assert _corpora.named("tiny", data, most=1).n_docs == 1
    found = _corpora.named("zipf:3000", tokens=2000)
    assert found.n_tokens == 2000
    assert 100 < found.n_words < 2000
    assert found.word_counts.min() >= 1
    texts = data / "tiny" / "texts.jsonl"
    texts.write_text('{"id": 1, "text": "a river, the bank"}\n{"id": 2, "text": "!"}\n{"id": 3, "text": "a bank"}\n')
    (data / "tiny" / "texts.jsonl.gz").write_bytes(gzip.compress(texts.read_bytes()))
    found = _corpora.named("tiny:texts", data)
    assert (found.n_docs, set(found.vocabulary)) == (2, {"river", "the", "bank"})


@pytest.mark.parametrize("entries", [20, 150, 600])
def test_cells_have_about_as_many_regions_as_asked(entries: int) -> None:
    found = _corpora.named(f"cells:{entries}", tokens=60_000, regions=2000)
    assert 0.85 < found.n_tokens / found.n_docs / entries < 1.4
    assert found.to_matrix().data.max() == 1
    assert np.all(np.diff(found.words)[np.diff(found.token_docs) == 0] > 0)


def test_corpora_that_are_not_there_are_noticed_first(data: Path) -> None:
    for names, said in (
        (["tiny", "other"], "no docword.npz in --data's folder other"),
        (["tiny:texts"], "no texts.jsonl.gz"),
        (["tiny:words"], "after the colon comes texts"),
        (["zipf:many"], "a whole number"),
    ):
        with pytest.raises(InputError, match=said):
            _corpora.check(names, data)
    with pytest.raises(InputError, match="needs --data"):
        _corpora.check(["kos"], None)
    with pytest.raises(InputError, match="needs at least"):
        _corpora.named("cells:200", regions=300)


# -- likelihood ------------------------------------------------------------------------------------------------------


def counts_of(corpus: Corpus, z: Any, n_topics: int) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    ones = np.ones(corpus.n_tokens)
    doc_topic = sp.csr_matrix((ones, (corpus.token_docs, z)), shape=(corpus.n_docs, n_topics))
    return doc_topic, sp.csr_matrix((ones, (z, corpus.words)), shape=(n_topics, corpus.n_words))


def test_counts_and_lists_give_the_same_likelihood(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    z = np.arange(corpus.n_tokens) * 7 % 4
    expected = _tools.likelihood(corpus, z, 4)
    assert _tools.counts_likelihood(*counts_of(corpus, z, 4), corpus.n_words) == pytest.approx(expected, rel=1e-12)
    monkeypatch.setattr(_tools, "DENSE_CELLS", 0)
    assert _tools.likelihood(corpus, z, 4) == pytest.approx(expected, rel=1e-12)


class Rust:
    """As pyrmallet: probabilities of one sample, in its own order of words."""

    def __init__(self, corpus: Corpus, off: float = 0.0) -> None:
        self.corpus, self.off = corpus, off
        self.z = np.arange(corpus.n_tokens) * 5 % 3
        self.order = np.random.default_rng(0).permutation(np.flatnonzero(corpus.word_counts))
        self.Corpus = SimpleNamespace(from_strings=self.read)

    def read(self, texts: list[str], **_: Any) -> Any:
        assert sum(len(text.split()) for text in texts) == self.corpus.n_tokens
        return SimpleNamespace(num_types=len(self.order))

    def train(self, _: Any, **given: Any) -> Any:
        assert (given["iterations"], given["num_samples"], given["alpha_sum"]) == (9, 1, pytest.approx(0.3))
        doc_topic, topic_word = (np.asarray(m.todense()) for m in counts_of(self.corpus, self.z, 3))
        theta = (doc_topic + 0.1) / (doc_topic + 0.1).sum(axis=1, keepdims=True)
        phi = (topic_word + 0.01)[:, self.order]
        phi /= phi.sum(axis=1, keepdims=True)
        own = _tools.likelihood(self.corpus, self.z, 3) * self.corpus.n_tokens + self.off
        return SimpleNamespace(
            log_likelihood=lambda _: own,
            get_doc_topics=lambda d: theta[d].tolist(),
            topic_word_matrix=phi.tolist,
        )


def test_counts_are_read_off_the_probabilities_of_pyrmallet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    corpus = _corpora.occurring(synthetic_lda(30, 25, 3, doc_length=12.0, seed=2).corpus)
    monkeypatch.setattr(_programs, "rival", lambda name: None)
    for off, fails in ((0.0, False), (5.0, True)):
        rust = Rust(corpus, off)
        monkeypatch.setattr(_programs, "import_module", lambda name, rust=rust: rust)
        program = _programs.Pyrmallet(corpus, tmp_path)
        if fails:
            with pytest.raises(InputError, match=r"pyrmallet says log p\(w, z\)"):
                program.run(3, 10)
            monkeypatch.setattr(_programs.Pyrmallet, "own_from", 1)  # too large to be read out: its own figure
        expected = _tools.likelihood(corpus, rust.z, 3) + off / corpus.n_tokens
        assert program.run(3, 10).likelihood == pytest.approx(expected, rel=1e-12)
    with pytest.raises(InputError, match="at least two sweeps"):
        program.run(3, 1)


@pytest.mark.parametrize("name", sorted(_programs.PACKAGES))
def test_packages_that_cannot_be_stepped(name: str, corpus: Corpus, tmp_path: Path) -> None:
    pytest.importorskip(name)
    corpus = _corpora.occurring(corpus)
    program = _programs.PACKAGES[name](corpus, tmp_path, 3, "cpu")
    few, many = (program.run(4, sweeps) for sweeps in (2, 200))
    assert many.likelihood > few.likelihood
    ours = _tools.Ours("dense", corpus, 4)
    ours.sweep(200)
    assert many.likelihood == pytest.approx(_tools.likelihood(corpus, ours.topics(), 4), abs=0.15)


# -- goals -----------------------------------------------------------------------------------------------------------


def curve(name: str, rate: float, *levels: float) -> Curve:
    """A sweep takes ``rate`` seconds; the likelihood is known after 0, 10, 20, … sweeps."""
    points = [Point(10 * i, 10 * i * rate, level) for i, level in enumerate(levels)]
    return Curve(name, points=points, per_sweep=(rate, rate))


def test_the_goal_is_the_best_level_and_the_best_rival_the_quickest() -> None:
    cell = _field.Cell("x", 5, 1000, 20, ["auto"])
    cell.curves = {
        "auto": [curve("auto", 0.5, -9, -8, -7), curve("auto", 0.5, -9, -8, -7)],
        "quick": [curve("quick", 1.0, -9, -8.4, -7.4, -6.8), curve("quick", 1.0, -9, -8.4, -7.6, -6.8)],
        "high": [curve("high", 4.0, -9, -8, -7), curve("high", 4.0, -9, -8, -7)],
    }
    assert cell.level("quick") == -7.5
    assert cell.goal == -7.0
    assert cell.best == "quick"  # it goes on for a while, and still is there before the other
    assert cell.seconds("auto") == (10, 10, 10)
    assert cell.seconds("high").middle == 80
    quick = cell.seconds("quick")
    assert (quick.least, quick.most) == (pytest.approx(20 + 10 * 0.4 / 0.6), pytest.approx(27.5))
    ratio = cell.ratio()
    assert ratio is not None
    assert ratio.middle == pytest.approx(quick.middle / 10)
    assert (ratio.least, ratio.most) == pytest.approx((quick.least / 10, 2.75))
    assert cell.nanoseconds("high") == 4e6
    cell.curves["quick"] = [curve("quick", 1.0, -9, -8.4, -7.4)] * 2
    assert cell.best == "high"
    assert cell.seconds("quick").middle == np.inf
    assert cell.shown_seconds("quick") == "> 20.00"
    assert cell.shown_seconds("high") == "80.00 (80.00 to 80.00)"
    assert (cell.may_be_best("quick"), cell.may_be_best("high")) == (True, True)  # the one is quick, the other high
    cell.curves["slow"] = [curve("slow", 2.5, -9, -8.4, -7.4)] * 2
    assert not cell.may_be_best("slow")
    assert _field.Spread.over([1.0, 2.0, np.inf]).shown(1) == "2.0 (1.0 to not reached)"


def test_rivals_that_would_take_too_long_are_left_out() -> None:
    given = SimpleNamespace(rival_cap=50.0, rival_share=3.0, sweeps=10)
    assert _field.too_slow({}, given) == {}  # type: ignore[arg-type]
    rates = {"a": 1.0, "b": 2.5, "c": 3.5, "d": 600.0}
    assert set(_field.too_slow(rates, given)) == {"c", "d"}  # type: ignore[arg-type]
    given.rival_cap = 5.0
    assert _field.too_slow({"a": 1.0}, given) == {"a": "about 10, by its first sweeps"}  # type: ignore[arg-type]


class Made:
    """A program in place of a package: one of our samplers, started anew for each run."""

    def __init__(self, corpus: Corpus, folder: Path, seed: int, clock: str) -> None:
        assert folder.is_dir()
        assert clock == "cpu"
        self.corpus, self.seed = corpus, seed

    def run(self, n_topics: int, sweeps: int) -> _programs.Run:
        chain = _tools.Ours("sparse", self.corpus, n_topics, seed=self.seed)
        chain.sweep(sweeps)
        reached = _tools.likelihood(self.corpus, chain.topics(), n_topics)
        return _programs.Run(sweeps, 1.0 + 0.1 * sweeps, reached, None)


def test_runs_are_made_on_both_sides_of_the_goal() -> None:
    class Steady:
        def __init__(self) -> None:
            self.asked: list[int] = []

        def run(self, n_topics: int, sweeps: int) -> _programs.Run:
            self.asked.append(sweeps)
            return _programs.Run(sweeps, 3.0 + sweeps, -10.0 + sweeps / 100, None)

    for goal, asked in ((-9.0, []), (-8.85, [125]), (-9.01, [80]), (-9.3, [80, 64]), (0.0, [125, 156, 195, 200])):
        made = Steady()
        runs = _field.Runs("x", made, 3)
        assert runs.rate() == 1.0
        made.asked.remove(10)
        runs.make(100)
        runs.reach(goal, 100, 200)
        assert made.asked == [2, 100, *asked]
        taken = runs.curve().seconds_to(goal)
        assert taken == (None if goal == 0.0 else pytest.approx(100 * (goal + 10)))


@pytest.fixture
def rivals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_programs.PACKAGES, "topica", Made)
    for module in (_field, lda):
        monkeypatch.setattr(module, "rival", lambda name: np)


@pytest.mark.usefixtures("rivals")
def test_a_row_for_each_corpus_and_number_of_topics(data: Path, tmp_path: Path) -> None:
    given = ["--field", "--clock", "cpu", "--data", str(data), "--tokens", "3e3", "--topics", "3", "5", "--sweeps", "8"]
    given += ["--seeds", "2", "--every", "2", "--rivals", "topica", "--out", str(tmp_path), "--name", "f"]
    lda.main([*given, "--corpus", "tiny", "zipf:40"])
    text = (tmp_path / "f.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith(("| tiny |", "| zipf:40 |"))]
    assert len(rows) == 4
    assert all("| topica |" in row for row in rows)  # the best rival
    assert str(data) not in text
    with (tmp_path / "f.csv").open() as file:
        points = list(csv.DictReader(file))
    assert {(p["tool"], p["seed"]) for p in points} == {(t, s) for t in ("auto", "topica") for s in "12"}
    assert {8, 2} <= {int(p["sweep"]) for p in points if p["tool"] == "topica"}
    one = ["--corpus", "tiny", "--rival-cap", "0.5", "--topics", "3"]
    lda.main([*given, *one])
    assert "about 1, by its first sweeps" in (tmp_path / "f.md").read_text()
    lda.main([*given, *one, "--rival-cap", "10", "--gigabytes", "1e-7"])
    assert "about 0 GB" in (tmp_path / "f.md").read_text()


@pytest.mark.parametrize(
    "name", ["compound", "crossover", "dense", "exact_shards", "hdp", "medlda", "multilabel", "multipath", "shards",
             "approximations", "explore", "variational", "scale", "transform"],
)  # fmt: skip
def test_corpora_of_every_benchmark_are_looked_for_first(
    name: str, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module: Any = import_module(f"benchmarks.{name}")
    for found in ("rival", "needed_ray"):
        if hasattr(module, found):
            monkeypatch.setattr(module, found, lambda *_: np)
    option = {"explore": [], "variational": [], "transform": ["--corpora", "absent"]}
    with pytest.raises(InputError, match="there is no"):
        module.main(["--data", str(data), *option.get(name, ["--corpus", "absent"])])
    assert capsys.readouterr().out == ""


def test_what_is_missing_is_said_before_the_first_race(data: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(lda, "report", lambda *_: pytest.fail("a race began"))
    monkeypatch.setattr(_field, "report", lambda *_: pytest.fail("a race began"))
    given = ["--data", str(data), "--corpus", "tiny", "--out", str(tmp_path)]
    for more, error, said in (
        (["--corpus", "other"], InputError, "no docword.npz"),
        (["--rivals", "MALLET"], InputError, "needs --mallet"),
        (["--mallet", str(tmp_path / "no")], InputError, "give the path of bin/mallet"),
        (["--warplda", str(tmp_path)], InputError, "there is no program format"),
    ):
        with pytest.raises(error, match=said):
            lda.main([*given, *more])
        with pytest.raises(error, match=said):
            lda.main(["--field", *given, *more])

    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(_common, "import_module", absent)
    with pytest.raises(MissingExtraError, match="matplotlib"):
        lda.main(given)


def test_mallet_takes_part_where_its_path_is_given(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_field, "find_spec", lambda name: True)
    assert _field.rivals_there(None) == ["tomotopy", "topica", "pyrmallet"]
    assert _field.rivals_there(tmp_path) == ["tomotopy", "topica", "MALLET"]
    stub(tmp_path / "bin" / "mallet", MALLET)
    state = ["#doc source pos typeindex type topic", "#alpha : 0.1 0.1 0.1", "#beta : 0.01"]
    full = corpus.select(np.flatnonzero(corpus.doc_lengths))
    state += [f"{d} NA 0 {v} word{v} 1" for d, v in zip(full.token_docs, full.words, strict=True)]
    (tmp_path / "bin" / "state.gz").write_bytes(gzip.compress(("\n".join(state) + "\n").encode()))
    given: Any = SimpleNamespace(mallet=tmp_path, clock="cpu")
    for seed in (5, 6):
        run = _field.maker("MALLET", corpus, tmp_path, given)(seed).run(3, 20)
        assert run.likelihood == pytest.approx(_tools.likelihood(full, np.ones(full.n_tokens), 3), rel=1e-12)
        assert 0 < run.seconds < 60
        trained = calls(tmp_path / "bin")[-1]
        assert trained[trained.index("--random-seed") + 1] == str(seed)
