"""The command line: what each command prints and writes, and the message of every bad input."""

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import topicloom
from saved import sign
from topicloom import mallet
from topicloom.cli import app
from topicloom.corpus import formats
from topicloom.corpus.corpus import Corpus

THEMES = ["river water fish boat", "money loan credit rate", "goal match team cup"]
COMMANDS = ["demo", "fit", "fit-labels", "fit-supervised", "resume", "transform", "predict", "topics", "evaluate"]
COMMANDS += ["convert", "info", "warmup", "fit-collections", "prevalence"]
PLAIN = {"COLUMNS": "100", "FORCE_COLOR": None, "PY_COLORS": None, "GITHUB_ACTIONS": None}
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of three themes, some held out (with unknown words), and the same as counts."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(3)

    def text(d: int, length: int) -> str:
        words = THEMES[d % 3].split() + ["bank"] * (d % 3 < 2)
        return " ".join(rng.choice(words, length))

    (folder / "texts.txt").write_text("".join(text(d, 20) + " The\n" for d in range(60)))
    with (folder / "new.jsonl").open("w") as file:
        for d in range(6):
            file.write(json.dumps({"name": f"doc-{d}", "body": text(d, 12) + " zebra" * 3}) + "\n")
        file.write(json.dumps({"name": "strange", "body": "zebra zebra"}) + "\n")
    corpus = topicloom.from_texts([THEMES[d % 3] for d in range(5)])
    formats.write(corpus, folder / "counts.uci")
    return folder


@pytest.fixture(scope="module")
def model(files: Path) -> Path:
    args = ["fit", files / "texts.txt", "--out", files / "model", "-k", "3", "-n", "60", "--stop-words", "english"]
    result = CliRunner().invoke(app, list(map(str, args)))
    assert result.exit_code == 0, result.output
    return files / "model"


@pytest.fixture
def run() -> Run:
    def call(*arguments: object) -> Result:
        return CliRunner(env=PLAIN).invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)

    return call


@pytest.fixture
def document(run: Run) -> Callable[..., Any]:
    """What a command prints with --json: exactly one document on standard output."""

    def call(*arguments: object) -> Any:
        result = run(*arguments, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return call


@pytest.fixture
def refused(run: Run) -> Callable[..., str]:
    """The one line that a refused command prints."""

    def call(*arguments: object) -> str:
        result = run(*arguments)
        assert result.exit_code == 2
        assert result.stdout == ""
        lines = [line for line in result.stderr.splitlines() if not line.startswith("topicloom: read ")]
        assert len(lines) == 1, result.stderr
        assert lines[0].startswith("topicloom: ")
        return lines[0].removeprefix("topicloom: ")

    return call


# -- the command itself ------------------------------------------------------------------------------------------


def test_help_lists_every_command_and_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['topicloom', '--help']\n"
        "from topicloom.cli import main\n"
        "try: main()\n"
        "except SystemExit: print([m for m in ('numpy', 'numba', 'scipy', 'sklearn') if m in sys.modules])"
    )
    plain = {name: value for name, value in os.environ.items() if name not in PLAIN}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=plain)
    for name in COMMANDS:
        assert f" {name} " in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"topicloom {topicloom.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run: Run, command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "Usage: " in result.stdout


def test_the_page_on_the_command_line_leaves_no_option_out_and_invents_none(run: Run) -> None:
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    explained = set(re.findall(r"--[a-z][a-z-]+", page))
    existing = {"--version"}
    for command in COMMANDS:
        shown = re.sub(r"\x1b\[[\d;]*m", "", run(command, "--help").stdout)  # colours, where they are forced
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", shown))
        existing |= options
        for line in re.findall(rf"^topicloom {command} .*$", page, re.MULTILINE):
            assert set(re.findall(r"--[a-z][a-z-]+", line)) <= options, line
    assert existing - explained == {"--version"}
    assert explained <= existing


def test_an_unknown_option_is_an_error_of_usage(run: Run, files: Path) -> None:
    result = run("fit", files / "texts.txt", "--out", files / "x", "--topic-count", "3")
    assert result.exit_code == 2
    assert "--topic-count" in result.stderr


# -- fit and resume ----------------------------------------------------------------------------------------------


def test_fit_finds_the_themes_and_keeps_them(model: Path) -> None:
    fitted = topicloom.load(model)
    found = sorted(sorted(set(words) - {"bank"})[:4] for words in fitted.top_words(5))
    assert found == sorted(sorted(theme.split()) for theme in THEMES)
    assert "the" not in fitted.vocabulary_
    assert fitted.n_iter_ == 60


def test_fit_shows_progress_on_standard_error_and_topics_on_standard_output(
    run: Run, files: Path, tmp_path: Path
) -> None:
    result = run("fit", files / "texts.txt", "--out", tmp_path / "m", "-k", 3, "-n", 20)
    assert "60 documents" in result.stderr
    assert "20/20" in result.stderr
    assert "river" in result.stdout
    assert "topicloom:" not in result.stdout
    quiet = run("fit", files / "texts.txt", "--out", tmp_path / "q", "-k", 3, "-n", 20, "--quiet")
    assert (quiet.stdout, quiet.stderr) == ("", "")
    assert topicloom.load(tmp_path / "q").fingerprint_ == topicloom.load(tmp_path / "m").fingerprint_


def test_fit_takes_every_parameter(document: Callable[..., Any], files: Path, tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.json"
    seeds.write_text('{"2": ["river", "fish"]}')
    stop = tmp_path / "stop.txt"
    stop.write_text("boat the\nrate\n")
    found = document(
        "fit", files / "texts.txt", "--out", tmp_path / "m", "--topics", 3, "--sweeps", 30, "--alpha", "0.1,0.2,0.3",
        "--beta", 0.05, "--fixed", "--estimator", "standard", "--chains", 2, "--seed", 9, "--burn-in", 20, "--thin", 5,
        "--checkpoint-every", 7, "--stop-words", stop, "--min-df", 2, "--max-df", 0.9, "--seed-words", seeds,
        "--seed-weight", 2.0, "--sampler", "dense", "--jobs", 2, "--paths", 2, "--shards", 3, "--mh-steps", 4,
    )  # fmt: skip
    assert found["status"] == "finished"
    assert (found["documents"], found["topics"], found["sweeps"], found["chains"], found["seed"]) == (60, 3, 30, 2, 9)
    fitted = topicloom.load(tmp_path / "m")
    assert fitted.fingerprint_ == found["fingerprint"]
    assert fitted.alpha_.tolist() == [0.1, 0.2, 0.3]
    assert set(fitted.beta_) == {0.05}
    assert fitted.estimator == "standard"
    assert (fitted.n_paths, fitted.n_shards, fitted.n_mh) == (2, 3, 4)
    assert len(fitted.chains_[0].state.z) == 2 * fitted.corpus_.n_tokens
    assert not {"boat", "the", "rate"} & set(fitted.vocabulary_)
    assert {"river", "fish"} <= set(fitted.top_words(3)[2])
    assert fitted.chains_[0].kept is not None
    assert fitted.chains_[0].kept.n_samples == 3


def test_fit_reads_tables_with_their_columns(run: Run, files: Path, tmp_path: Path) -> None:
    columns = ["--text-column", "body", "--id-column", "name", "--keep-case", "--max-words", 8]
    run("fit", files / "new.jsonl", "--out", tmp_path / "m", "-k", 2, "-n", 5, *columns)
    corpus = topicloom.load(tmp_path / "m").corpus_
    assert corpus.ids == (*(f"doc-{d}" for d in range(6)), "strange")
    assert corpus.n_words == 8


def test_warnings_are_one_line(run: Run, files: Path, tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.json"
    seeds.write_text('[["river", "zeppelin"]]')
    result = run("fit", files / "texts.txt", "--out", tmp_path / "m", "-k", 3, "-n", 5, "-q", "--seed-words", seeds)
    assert result.stderr == "topicloom: warning: seed words not in the vocabulary, without effect: 'zeppelin'.\n"


def test_resume_goes_on_to_more_sweeps(document: Callable[..., Any], files: Path, tmp_path: Path) -> None:
    args = ["fit", files / "texts.txt", "-k", 3]
    whole = document(*args, "--out", tmp_path / "whole", "-n", 50)
    document(*args, "--out", tmp_path / "part", "-n", 20)
    assert document("resume", tmp_path / "part")["sweeps"] == 20  # there is nothing to do
    assert document("resume", tmp_path / "part", "--sweeps", 50)["fingerprint"] == whole["fingerprint"]


def test_bad_fits_are_told_in_one_line(refused: Callable[..., str], files: Path, model: Path, tmp_path: Path) -> None:
    texts, out = files / "texts.txt", ["--out", tmp_path / "m"]
    assert refused("fit", files / "none.txt", *out) == f"there is no file {files / 'none.txt'}."
    assert refused("fit", texts, "--out", model) == (
        f"{model} is not an empty directory; give another with --out. To go on with the run in it: "
        f"topicloom resume {model}."
    )
    assert "is not an empty directory; give another with --out." in refused("fit", texts, "--out", texts)
    assert refused("fit", texts, *out, "-k", 0) == "--topics 0 must be a whole number of at least 1."
    assert refused("fit", texts, *out, "--burn-in", 501).startswith("--burn-in 501 leaves no sweep to keep of --sweeps")
    assert "--estimator 'best' is not known" in refused("fit", texts, *out, "--estimator", "best")
    for option in ("--shards", "--mh-steps", "--paths"):
        assert f"{option} 0" in refused("fit", texts, *out, option, "0")
    assert "--sampler 'x' is not known" in refused("fit", texts, *out, "--sampler", "x")
    assert "--jobs 0 must be" in refused("fit", texts, *out, "--jobs", 0)
    assert "--alpha 0.1;0.2: expected a number" in refused("fit", texts, *out, "--alpha", "0.1;0.2")
    assert "--alpha has shape (2,)" in refused("fit", texts, *out, "--alpha", "0.1,0.2")
    assert "--beta contains -1" in refused("fit", texts, *out, "--beta", "-1")
    assert "--min-df few: expected a number" in refused("fit", texts, *out, "--min-df", "few")
    assert "Lower --min-df or raise --max-df." in refused("fit", texts, *out, "--min-df", 100)
    assert "'--min-df' is not an option of format 'uci'" in refused("fit", files / "counts.uci", *out, "--min-df", 2)
    assert "give --format one of" in refused("fit", model / "manifest.json", *out)
    assert "--format 'doc' is not known" in refused("fit", texts, *out, "--format", "doc")
    assert "no column 'text'; there are 'name', 'body'. Name the right one with --text-column." in refused(
        "fit", files / "new.jsonl", *out
    )
    assert "stop.txt cannot be read" in refused("fit", texts, *out, "--stop-words", tmp_path / "stop.txt")
    assert "--learn learns one β" in refused(
        "fit", texts, *out, "--learn", "--seed-words", _json(tmp_path, [["river"]])
    )
    assert list(tmp_path.iterdir()) == [tmp_path / "seeds.json"]


def _json(folder: Path, value: object) -> Path:
    (folder / "seeds.json").write_text(json.dumps(value))
    return folder / "seeds.json"


def test_bad_seed_words_are_told(refused: Callable[..., str], files: Path, tmp_path: Path) -> None:
    fit = ["fit", files / "texts.txt", "--out", tmp_path / "m", "-k", 3, "--seed-words"]
    assert "cannot be read" in refused(*fit, tmp_path / "none.json")
    assert '{"topic number": ["word", …]}' in refused(*fit, _json(tmp_path, {"sport": ["goal"]}))
    assert "topics are numbered 0 to 2" in refused(*fit, _json(tmp_path, {"7": ["goal"]}))
    assert "give a list of words" in refused(*fit, _json(tmp_path, {"0": "goal"}))
    (tmp_path / "seeds.json").write_text('{"0": [goal]}')
    assert "line 1: this is not JSON" in refused(*fit, tmp_path / "seeds.json")


def test_bad_directories_are_told(refused: Callable[..., str], model: Path, tmp_path: Path) -> None:
    for command in ("resume", "topics", "transform", "evaluate"):
        assert f"{tmp_path} is not a topicloom directory: it has no manifest.json." == refused(command, tmp_path)
    assert "--sweeps 10 is less than the 60 sweeps" in refused("resume", model, "--sweeps", 10)
    (tmp_path / "manifest.json").write_bytes((model / "manifest.json").read_bytes())
    sign(tmp_path, status="running")
    assert refused("topics", tmp_path) == (
        f"the run in {tmp_path} has not finished; go on with topicloom resume {tmp_path}."
    )
    sign(tmp_path, version=99)
    assert "format version 99; this topicloom reads versions 1 to" in refused("topics", tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    assert "is damaged" in refused("info", tmp_path)


# -- results -----------------------------------------------------------------------------------------------------


def test_topics(run: Run, document: Callable[..., Any], model: Path) -> None:
    fitted = topicloom.load(model)
    found = document("topics", model, "--words", 4)
    assert [topic["topic"] for topic in found] == [0, 1, 2]
    assert sum(topic["share"] for topic in found) == pytest.approx(1.0)
    assert [[word["word"] for word in topic["words"]] for topic in found] == fitted.top_words(4)
    rows = list(csv.DictReader(run("topics", model, "--csv", "--words", 4).stdout.splitlines()))
    assert len(rows) == 12
    assert [row["word"] for row in rows[:4]] == fitted.top_words(4)[0]
    assert float(rows[0]["probability"]) == fitted.topic_word_[0].max()
    assert " ".join(fitted.top_words(4)[2]) in run("topics", model, "--words", 4).stdout


def test_shares_are_those_of_the_tokens(document: Callable[..., Any], files: Path, tmp_path: Path) -> None:
    document("fit", files / "texts.txt", "--out", tmp_path / "m", "-k", 3, "-n", 20, "--estimator", "standard")
    shares = [topic["share"] for topic in document("topics", tmp_path / "m")]
    z = topicloom.load(tmp_path / "m").chains_[0].state.z
    np.testing.assert_allclose(shares, np.bincount(z, minlength=3) / len(z))


def test_transform_writes_every_format(
    run: Run, document: Callable[..., Any], files: Path, model: Path, tmp_path: Path
) -> None:
    args = ["transform", model, files / "new.jsonl", "--text-column", "body", "--id-column", "name"]
    texts = [json.loads(line)["body"] for line in (files / "new.jsonl").read_text().splitlines()]
    fitted = topicloom.load(model)
    with pytest.warns(topicloom.errors.UnknownWordsWarning):
        expected = fitted.transform(texts)

    printed = run(*args)
    assert "of the words in 7 documents are unknown to the model; 1 document has no known word" in printed.stderr
    rows = list(csv.DictReader(printed.stdout.splitlines()))
    assert [row["id"] for row in rows] == [*(f"doc-{d}" for d in range(6)), "strange"]
    assert [int(row["unknown"]) for row in rows] == [3, 3, 3, 3, 3, 3, 2]
    np.testing.assert_array_equal([[float(row[f"topic_{k}"]) for k in range(3)] for row in rows], expected)

    run(*args, "--out", tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == printed.stdout
    run(*args, "--out", tmp_path / "a.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), expected)
    run(*args, "--out", tmp_path / "a.jsonl")
    records = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert records[6] == {"id": "strange", "tokens": 0, "unknown": 2, "topics": expected[6].tolist()}
    assert document(*args)["doc_topics"] == records
    assert document(*args)["unknown_share"] == 20 / 92


def test_transform_of_counts_goes_by_names_of_words(run: Run, files: Path, model: Path) -> None:
    rows = list(csv.DictReader(run("transform", model, files / "counts.uci").stdout.splitlines()))
    fitted = topicloom.load(model)
    expected = fitted.transform([THEMES[d % 3] for d in range(5)])
    np.testing.assert_array_equal([[float(row[f"topic_{k}"]) for k in range(3)] for row in rows], expected)


def test_transform_without_input_gives_the_training_documents(document: Callable[..., Any], model: Path) -> None:
    found = document("transform", model)
    expected = topicloom.load(model).doc_topic_
    np.testing.assert_array_equal([row["topics"] for row in found["doc_topics"]], expected)


def test_evaluate(run: Run, document: Callable[..., Any], files: Path, model: Path) -> None:
    fitted = topicloom.load(model)
    corpus = fitted.corpus_
    found = document("evaluate", model, "--words", 4)["scores"]
    assert found == {
        "coherence c_npmi": pytest.approx(topicloom.evaluation.coherence(fitted.topic_word_, corpus, n_words=4).mean()),
        "diversity": topicloom.evaluation.topic_diversity(fitted.topic_word_, corpus.n_words),
    }
    new = [files / "new.jsonl", "--text-column", "body"]
    every = "perplexity,left-to-right,coherence,diversity"
    found = document("evaluate", model, *new, "--measures", every, "--words", 3, "--coherence", "u_mass")
    assert len(found["by_topic"]["coherence u_mass"]) == 3
    assert 1 < found["scores"]["perplexity"] < fitted.corpus_.n_words
    assert -3 < found["scores"]["left-to-right log-likelihood/token"] < 0
    shown = run("evaluate", model, *new, "--measures", "perplexity").stdout
    assert f"{found['scores']['perplexity']:.4f}" in shown
    assert "coherence" not in shown


def test_bad_requests_of_results_are_told(refused: Callable[..., str], files: Path, model: Path) -> None:
    assert "the name must end in .csv, .jsonl or .npy" in refused("transform", model, "--out", "theta.xlsx")
    assert "there is no file" in refused("transform", model, files / "none.txt")
    assert "--measures r2: not known" in refused("evaluate", model, "--measures", "r2")
    assert "--measures perplexity scores held-out documents" in refused("evaluate", model, "--measures", "perplexity")
    assert "--coherence 'c_x' is not known" in refused("evaluate", model, "--coherence", "c_x")
    assert "--words 0 must be" in refused("topics", model, "--words", 0)


# -- files -------------------------------------------------------------------------------------------------------


def test_convert_between_formats(run: Run, files: Path, tmp_path: Path) -> None:
    result = run("convert", files / "texts.txt", tmp_path / "a.uci.gz", "--stop-words", "english")
    assert result.exit_code == 0
    run("convert", tmp_path / "a.uci.gz", tmp_path / "b.data", "--to", "ldac")
    run("convert", "--from", "ldac", tmp_path / "b.data", tmp_path / "c.npz")
    expected = topicloom.read(files / "texts.txt", stop_words="english")
    found = topicloom.read(tmp_path / "c.npz")
    assert found.vocabulary == expected.vocabulary
    assert (found.to_matrix() != expected.to_matrix()).nnz == 0


def test_a_model_becomes_a_mallet_state_and_its_state_becomes_tables(run: Run, model: Path, tmp_path: Path) -> None:
    state = tmp_path / "state.gz"
    assert run("convert", model, state, "--to", "mallet-state").exit_code == 0
    fitted = topicloom.load(model)
    np.testing.assert_array_equal(mallet.read_state(state).state.z, fitted.chains_[0].state.z)
    theta, phi = fitted.estimate("cgs_p")
    for source in (state, model):
        run("convert", source, tmp_path / "docs.csv", "--to", "doc-topics")
        rows = list(csv.DictReader((tmp_path / "docs.csv").read_text().splitlines()))
        found = [[float(row[f"topic_{k}"]) for k in range(3)] for row in rows]
        np.testing.assert_allclose(found, theta, rtol=0, atol=1e-12)
        run("convert", source, tmp_path / "words.csv", "--to", "topic-words")
        rows = list(csv.DictReader((tmp_path / "words.csv").read_text().splitlines()))
        assert tuple(row["word"] for row in rows) == fitted.vocabulary_
        found = [[float(row[f"topic_{k}"]) for k in range(3)] for row in rows]
        np.testing.assert_allclose(found, phi.T, rtol=0, atol=1e-12)
        run("convert", source, tmp_path / "texts.txt")
        assert topicloom.read(tmp_path / "texts.txt").fingerprint == fitted.corpus_.fingerprint
    run("convert", state, tmp_path / "plain.csv", "--to", "doc-topics", "--estimator", "standard")
    rows = list(csv.DictReader((tmp_path / "plain.csv").read_text().splitlines()))
    found = [[float(row[f"topic_{k}"]) for k in range(3)] for row in rows]
    np.testing.assert_allclose(found, fitted.estimate("standard")[0], rtol=0, atol=1e-12)


def test_info(run: Run, document: Callable[..., Any], files: Path, model: Path, tmp_path: Path) -> None:
    corpus = topicloom.read(files / "texts.txt")
    found = document("info", files / "texts.txt")
    assert found["kind"] == "corpus"
    assert (found["documents"], found["words"], found["tokens"]) == (60, corpus.n_words, corpus.n_tokens)
    assert found["corpus_fingerprint"] == corpus.fingerprint

    fitted = topicloom.load(model)
    found = document("info", model)
    assert (found["kind"], found["status"], found["format_version"]) == ("LDA", "finished", 2)
    assert found["written_by"] == f"topicloom {topicloom.__version__}"
    assert found["sweeps_by_chain"] == {"0": 60}
    assert found["fingerprint"] == fitted.fingerprint_
    assert found["corpus_fingerprint"] == fitted.corpus_.fingerprint
    assert found["parameters"]["n_components"] == 3
    assert fitted.fingerprint_ in run("info", model).stdout

    run("convert", model, tmp_path / "state.gz", "--to", "mallet-state")
    found = document("info", tmp_path / "state.gz")
    assert (found["kind"], found["topics"], found["tokens"]) == ("MALLET state", 3, fitted.corpus_.n_tokens)


def test_a_model_without_its_corpus(
    run: Run, document: Callable[..., Any], refused: Callable[..., str], files: Path, model: Path, tmp_path: Path
) -> None:
    topicloom.load(model).save(tmp_path / "small", corpus=False)
    small = tmp_path / "small"
    assert document("info", small)["status"] == "finished"
    assert "documents" not in document("info", small)
    assert document("topics", small) == document("topics", model)
    assert run("transform", small, files / "counts.uci").stdout == run("transform", model, files / "counts.uci").stdout
    for command in (["transform", small], ["evaluate", small], ["convert", small, tmp_path / "a.txt"]):
        assert "saved without its corpus" in refused(*command)


def test_bad_files_are_told(refused: Callable[..., str], files: Path, tmp_path: Path) -> None:
    texts = files / "texts.txt"
    assert "has no topics; --to mallet-state needs a model or a MALLET state" in refused(
        "convert", texts, tmp_path / "s.gz", "--to", "mallet-state"
    )
    assert "format 'csv' is not written" in refused("convert", texts, tmp_path / "a.csv")
    assert "--format 'pdf' is not known" in refused("convert", texts, tmp_path / "a", "--to", "pdf")
    assert "there is no file" in refused("info", files / "none")
    assert "cannot be written" in refused("convert", texts, tmp_path / "no" / "a.uci")
    (tmp_path / "state.txt").write_text("#doc source pos typeindex type topic\n#alpha : 1 1\n#beta : 1\n0 NA x\n")
    assert "state.txt, line 4: found '0 NA x'" in refused("info", tmp_path / "state.txt")
    (tmp_path / "broken.ldac").write_text("2 0:1\n")
    assert "broken.ldac, line 1" in refused("fit", tmp_path / "broken.ldac", "--out", tmp_path / "m")
    (tmp_path / "empty.txt").write_text("\n\n")
    assert "no word" in refused("fit", tmp_path / "empty.txt", "--out", tmp_path / "m")
    inside_a_file = texts / "m"
    assert f"{inside_a_file} cannot be written: Not a directory." in refused("fit", texts, "--out", inside_a_file)


def test_a_missing_extra_is_named(refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert "install it with pip install 'topicloom[parquet]'." in refused("info", tmp_path / "a.parquet")


# -- the rest ----------------------------------------------------------------------------------------------------


def test_warmup(document: Callable[..., Any]) -> None:
    found = document("warmup")
    assert found["seconds"] > 0
    assert "dense" in found["samplers"]


def test_demo(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a small corpus in the place of the docstrings, which take some seconds to read."""
    made = topicloom.datasets.synthetic_lda(n_docs=120, n_words=60, n_topics=4, doc_length=40, seed=1).corpus
    corpus = made.with_metadata(groups=["left", "right"] * 60)

    def docstrings() -> Corpus:
        return corpus

    monkeypatch.setattr(topicloom.datasets, "docstrings", docstrings)
    result = run("demo", "--topics", 4, "--sweeps", 60, "--json")
    found = json.loads(result.stdout)
    assert (found["documents"], found["held_out"], found["words"]) == (108, 12, 60)
    shares = [topic["share"] for topic in found["topics"]]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1.0)
    assert {topic["package"] for topic in found["topics"]} <= {"left", "right"}
    scores = {(row["phi"], row["theta"]): row["perplexity"] for row in found["perplexity"]}
    assert len(scores) == 4
    assert all(1 < value < 60 for value in scores.values())
    shown = run("demo", "--topics", 4, "--sweeps", 60).stdout
    for value in scores.values():
        assert f"{value:.1f}" in shown
    lower = "CGS_p" if scores["cgs_p", "cgs_p"] < scores["standard", "standard"] else "standard"
    assert f"{lower} is lower by" in shown


def test_a_fit_that_is_interrupted_tells_how_to_go_on(
    run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from topicloom.models import LDA

    def interrupted(self: LDA, X: Any, **_: Any) -> LDA:
        raise KeyboardInterrupt

    monkeypatch.setattr(LDA, "fit", interrupted)
    result = run("fit", files / "texts.txt", "--out", tmp_path / "m", "-q")
    assert result.exit_code == 130
    assert result.stderr == "topicloom: interrupted before the first sweep; nothing is kept.\n"
