"""The benchmark from a file of texts to topics: what it runs, and its table."""

import ast
import json
from pathlib import Path

import pytest

from benchmarks import first_minutes
from benchmarks.first_minutes import Task


def test_the_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    seen: list[tuple[str, Task, list[str]]] = []

    def run(tool: str, task: Task, folder: Path) -> tuple[float, float]:
        seen.append((tool, task, task.path.read_text(encoding="utf-8").splitlines()))
        return 1.0 + task.sweeps, 2.0 * task.cores

    monkeypatch.setattr(first_minutes, "run", run)
    monkeypatch.setattr(first_minutes, "find_spec", lambda name: name)
    data = tmp_path / "texts.jsonl"
    data.write_text("".join(json.dumps({"text": f"word{i} a\nriver bank"}) + "\n" for i in range(3)))
    first_minutes.main(["--data", str(data), "--documents", "5", "--words", "3", "--sweeps", "4", "--rounds", "2"])
    out = capsys.readouterr().out
    assert "| 5 | 0 | 1 | topicloom | 1.0 | 2.0 | 5.0 | 2.0 |" in out
    assert "| 5 | 0 | 2 | tomotopy | 1.0 | 4.0 | 5.0 | 4.0 |" in out
    assert out.count("pyrmallet") == 1  # which has one thread
    *_, (_, task, lines) = seen
    assert task.sweeps == 4
    assert len(lines) == 5
    assert sorted(set(lines)) == ["word0 a river", "word1 a river", "word2 a river"]
    first_minutes.main(["--documents", "2", "--cores", "1", "--sweeps", "0"])
    assert "| topicloom | 1.0 | 2.0 | – | – |" in capsys.readouterr().out


def test_programs_can_be_read_and_a_fit_is_timed(tmp_path: Path) -> None:
    for code in first_minutes.CODE.values():
        ast.parse(code)
    path = tmp_path / "texts.txt"
    path.write_text("river bank\nmoney bank\n" * 10)
    for sweeps in (0, 2):
        wall, used = first_minutes.run("topicloom", Task(path, 2, sweeps, 1), tmp_path)
        assert wall > 0
        assert used > 0
    assert [file.name for file in tmp_path.iterdir()] == ["texts.txt"]
