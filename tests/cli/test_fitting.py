"""``fit`` and ``resume``: what they print and keep, every parameter, and the message of every bad input."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import topicloom
from tests.cli.invoking import THEMES, Run
from tests.helpers.saved import sign


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
    assert "20 of 20 sweeps" in result.stderr
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
        "--keep-draws", "phi, theta",
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
    assert (fitted.n_paths, fitted.n_shards, fitted.sampler_options) == (2, 3, {"n_mh": 4})
    assert len(fitted.chains_[0].state.z) == 2 * fitted.corpus_.n_tokens
    assert not {"boat", "the", "rate"} & set(fitted.vocabulary_)
    assert {"river", "fish"} <= set(fitted.top_words(3)[2])
    assert fitted.chains_[0].kept is not None
    assert fitted.chains_[0].kept.n_samples == 3
    assert {name: array.shape[:3] for name, array in fitted.draws_.items()} == {"phi": (2, 3, 3), "theta": (2, 3, 60)}


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
        f"{model} is not an empty directory; give another with --out. To resume the run in it: "
        f"topicloom resume {model}."
    )
    assert "is not an empty directory; give another with --out." in refused("fit", texts, "--out", texts)
    assert refused("fit", texts, *out, "-k", 0) == "--topics 0 must be a whole number of at least 1."
    assert refused("fit", texts, *out, "--mh-steps", 0) == "--mh-steps 0 must be a whole number of at least 1."
    assert refused("fit", texts, *out, "--burn-in", 501).startswith("--burn-in 501 leaves no sweep to keep of --sweeps")
    assert refused("fit", texts, *out, "--keep-draws", "theta").startswith(
        "--keep-draws keeps a draw at sweeps --burn-in"
    )
    wrong = ("--burn-in", 10, "--keep-draws", "theta,eta")
    assert refused("fit", texts, *out, *wrong) == "--keep-draws theta,eta: expected theta, phi, or theta,phi."
    assert "--keep-draws is for sampling" in refused("fit", texts, *out, "--method", "cvb0", "--keep-draws", "theta")
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
    assert "'--keep-texts' is not an option of format 'uci'" in refused(
        "fit", files / "counts.uci", *out, "--keep-texts"
    )
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
        f"the run in {tmp_path} has not finished; resume it with topicloom resume {tmp_path}."
    )
    sign(tmp_path, version=99)
    assert "format version 99; this topicloom reads versions 1 to" in refused("topics", tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    assert "is damaged" in refused("info", tmp_path)


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
