"""``explore``: pages of models and states from the command line."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import topicloom
from tests.cli.invoking import Run
from tests.explore.conftest import blocks_of

Refused = Callable[..., str]


def test_a_page_of_a_model(run: Run, files: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "topics.html"
    result = run("explore", model, "--out", out, "--documents", 20, "--title", "Themes", "--no-texts")
    assert result.exit_code == 0, result.output
    assert str(out) in result.stderr
    core = blocks_of(out)["data-core"]
    assert core["title"] == "Themes"
    assert (core["documents"]["n"], core["documents"]["of"], core["documents"]["texts"]) == (20, 60, "none")
    assert core["fingerprint"] == topicloom.load(model).fingerprint_
    result = run("explore", model, "--out", out, "--texts", files / "texts.txt", "--text-length", 50, "--all")
    assert result.exit_code == 0, result.output
    found = blocks_of(out)
    lines = (files / "texts.txt").read_text().splitlines()
    assert [doc["text"] for doc in found["data-texts-0"]["docs"]] == [line[:50] for line in lines[:50]]
    assert found["data-texts-0"]["docs"][0]["tokens"]
    assert found["data-core"]["documents"]["n"] == 60


def test_a_page_of_a_state(run: Run, files: Path, model: Path, tmp_path: Path) -> None:
    state, out = tmp_path / "state.gz", tmp_path / "page.html"
    assert run("convert", model, state, "--to", "mallet-state").exit_code == 0
    result = run("explore", state, "-o", out, "--texts", files / "texts.txt", "--level", 0.5)
    assert result.exit_code == 0, result.output
    core = blocks_of(out)["data-core"]
    assert core["kind"] == "MALLET state"
    assert core["level"] == 0.5
    assert core["documents"]["texts"] == "whole"


def test_a_page_of_two_models(run: Run, model: Path, tmp_path: Path) -> None:
    other, out = tmp_path / "other", tmp_path / "page.html"
    shutil.copytree(model, other)
    result = run("explore", model, other, "--out", out, "--documents", 0)
    assert result.exit_code == 0, result.output
    core = blocks_of(out)["data-core"]
    assert core["models"]["names"] == [str(model), str(other)]
    assert core["models"]["matches"] == [[0, 1, 2]]


def test_what_cannot_be_shown(refused: Refused, files: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert "is a corpus, which has no topics" in refused("explore", files / "texts.txt", "--out", out)
    assert "there is no file" in refused("explore", tmp_path / "none", "--out", out)
    assert "holds no texts" in refused("explore", model, "--out", out, "--texts", files / "counts.uci")
    message = refused("explore", model, "--out", out, "--no-texts", "--texts", files / "texts.txt")
    assert message.startswith("--no-texts leaves out what --texts reads")
    assert "--documents" in refused("explore", model, "--out", out, "--documents", -1)
    assert "is given twice" in refused("explore", model, model, "--out", out)
    few = tmp_path / "few.txt"
    few.write_text("river\n")
    assert "texts has 1 entries but the model has 60 documents" in refused(
        "explore", model, "--out", out, "--texts", few
    )
    assert not out.exists()


@pytest.mark.parametrize("name", ["documents", "text_length"])
def test_messages_name_options(name: str) -> None:
    from topicloom.cli._run import in_options

    assert in_options(f"{name}=-1 must be") == f"--{name.replace('_', '-')} -1 must be"
