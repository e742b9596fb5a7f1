"""A few kills of every stage of some models; ``make torture`` has thousands, over all models."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.torture.__main__ import ONE_THREAD

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
ROOT = Path(__file__).parents[2]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **ONE_THREAD}
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=env, capture_output=True, text=True, timeout=240, check=False
    )


def test_kills_at_random_moments(tmp_path: Path) -> None:
    models = ["LDA", "LabeledLDA", "HMM"]
    options = ["--kills", "18", "--every", "0", "--seed", "1", "--reading", "0.5", "--dir", str(tmp_path)]
    done = run("-m", "tests.torture", *options, "--models", *models)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "18 kills" in done.stdout
    assert done.stdout.count(" 0 mixed") == 3
    assert list(tmp_path.iterdir()) == []


def test_kills_before_file_operations(tmp_path: Path) -> None:
    models = ["LDA cvb0", "MedLDAClassifier", "CompoundLDA"]
    options = ["--kills", "9", "--every", "9", "--reading", "0", "--dir", str(tmp_path)]
    done = run("-m", "tests.torture", *options, "--models", *models)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kills before every 9. file operation" in done.stdout


BROKEN = {
    "files are replaced where they are": """
def write_named(folder, role, arrays, info):
    name = role + ".safetensors"
    return name, arrays_module.write_arrays(folder / name, arrays, info)
directories.write_named = write_named
""",
    "old files go first": """
write_named = directories.write_named
def after_deleting(folder, role, arrays, info):
    for old in folder.glob(role + "-*"):
        old.unlink()
    return write_named(folder, role, arrays, info)
directories.write_named = after_deleting
""",
    "what is left behind stays": "directories._clean = lambda folder: None",
    "unfinished files count": """
directories.is_free = kills.is_free = lambda folder: not folder.exists() or not any(folder.iterdir())
""",
}
KILLS = """
import sys
from pathlib import Path
from topicloom.files import arrays as arrays_module, directories
from tests.torture import kills
{broken}
prepared = kills.prepare("LDA", Path(sys.argv[1]))
found = [k for begin in ("nothing", "other") for k in kills.kill_at_steps(prepared, "save", begin, 2, 0)]
print(len(found), sum(each.outcome == kills.OTHER for each in found))
"""


@pytest.mark.parametrize("how", BROKEN)
def test_ways_to_write_that_lose_something_are_found_out(how: str, tmp_path: Path) -> None:
    done = run("-c", KILLS.format(broken=BROKEN[how]), str(tmp_path))
    assert done.returncode == 0, done.stderr
    n_kills, n_wrong = map(int, done.stdout.split())
    assert n_kills > 5
    assert n_wrong > 0
