"""A run that is killed or interrupted and then resumed ends in the same bits as one that was left alone."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

import topicloom
from tests.helpers.saved import file_of, files_in
from topicloom.corpus import formats
from topicloom.errors import StorageError

SWEEPS, CHAINS = 900, 2
FIT = ["--topics", "12", "--chains", str(CHAINS), "--seed", "7", "--burn-in", "300", "--thin", "40", "--quiet"]
FIT += ["--keep-draws", "theta,phi"]
# SIGINT is reset because a shell that starts jobs in the background makes them ignore it.
TOPICLOOM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from topicloom.cli import main; main()"
)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


def start(*arguments: object, stderr: Path) -> subprocess.Popen[bytes]:
    with stderr.open("wb") as file:
        return subprocess.Popen([sys.executable, "-c", TOPICLOOM, *map(str, arguments)], stderr=file)


def run(*arguments: object, folder: Path) -> None:
    log = folder / "log.txt"
    assert start(*arguments, stderr=log).wait(timeout=120) == 0, log.read_text()


def sweeps_done(directory: Path) -> list[int]:
    """The sweep of each chain's checkpoint, 0 where there is none; readable at any moment of a run."""
    found = []
    for index in range(CHAINS):
        path = directory / f"chain-{index}.safetensors"
        if path.exists():
            with safe_open(path, framework="numpy") as file:
                found.append(int(json.loads(file.metadata()["info"])["sweep"]))
        else:
            found.append(0)
    return found


def wait_for_sweep(process: subprocess.Popen[bytes], directory: Path, sweep: int) -> None:
    deadline = time.monotonic() + 60
    while max(sweeps_done(directory)) < sweep:
        assert process.poll() is None, "the run ended before it could be stopped"
        assert time.monotonic() < deadline, "the run makes no progress"
        time.sleep(0.002)


def status(directory: Path) -> str:
    return str(json.loads((directory / "manifest.json").read_text())["status"])


def content(path: Path) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    with safe_open(path, framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    return {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in arrays.items()}


def assert_same_bits(directory: Path, other: Path) -> None:
    assert status(directory) == status(other) == "finished"
    names = ["chain-0.safetensors", "chain-1.safetensors", "corpus.safetensors", "model.safetensors"]
    assert files_in(directory) == files_in(other) == [*names[:3], "manifest.json", names[3]]
    for name in names:
        role = name.removesuffix(".safetensors")
        found, expected = content(file_of(directory, role)), content(file_of(other, role))
        assert found.keys() == expected.keys()
        for array, values in expected.items():
            assert found[array] == values, f"{array} of {name} differs"


@pytest.fixture(scope="module")
def corpus_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = topicloom.datasets.synthetic_lda(n_docs=200, n_words=400, n_topics=12, doc_length=50, seed=5)
    path = tmp_path_factory.mktemp("corpus") / "made.npz"
    formats.write(made.corpus, path)
    return path


@pytest.fixture(scope="module")
def uninterrupted(corpus_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("uninterrupted")
    run("fit", corpus_file, "--out", folder / "run", *FIT, "--sweeps", SWEEPS, "--jobs", 1, folder=folder)
    return folder / "run"


def test_killed_and_resumed(corpus_file: Path, uninterrupted: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    often = ["--checkpoint-every", "20", "--jobs", "2"]
    process = start("fit", corpus_file, "--out", out, *FIT, "--sweeps", SWEEPS, *often, stderr=tmp_path / "log.txt")
    wait_for_sweep(process, out, 320)  # samples are being kept
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=30) == -signal.SIGKILL
    assert status(out) == "running"
    assert 320 <= max(sweeps_done(out)) < SWEEPS
    # What a write that was cut short leaves behind: half a file under the name of no checkpoint.
    whole = (out / "chain-0.safetensors").read_bytes()
    (out / ".chain-0.safetensors.4711.tmp").write_bytes(whole[: len(whole) // 2])
    (out / ".manifest.json.4711.tmp").write_text('{"format": "topic')
    run("resume", out, "--quiet", "--jobs", 1, folder=tmp_path)
    assert_same_bits(out, uninterrupted)


def test_interrupted_and_resumed(corpus_file: Path, uninterrupted: Path, tmp_path: Path) -> None:
    out, log = tmp_path / "run", tmp_path / "log.txt"
    process = start("fit", corpus_file, "--out", out, *FIT, "--sweeps", SWEEPS, "--checkpoint-every", "150", stderr=log)
    wait_for_sweep(process, out, 150)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    done = sweeps_done(out)
    assert all(0 < sweep < SWEEPS for sweep in done)
    told = log.read_text()
    assert told in [f"topicloom: interrupted after sweep {n}. Resume with: topicloom resume {out}\n" for n in done]
    assert status(out) == "running"
    assert not list(out.glob("model*"))
    run("resume", out, "--quiet", folder=tmp_path)
    assert_same_bits(out, uninterrupted)


def test_killed_before_the_first_checkpoint(corpus_file: Path, uninterrupted: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    never = ["--checkpoint-every", str(10 * SWEEPS)]
    process = start("fit", corpus_file, "--out", out, *FIT, "--sweeps", SWEEPS, *never, stderr=tmp_path / "log.txt")
    while not (out / "manifest.json").exists():
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=30)
    assert sweeps_done(out) == [0, 0]
    topicloom.resume(out, verbose=0)
    assert_same_bits(out, uninterrupted)


def test_a_finished_run_goes_on_to_more_sweeps(corpus_file: Path, uninterrupted: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    model = topicloom.LDA(12, n_chains=2, random_state=7, burn_in=300, thin=40, max_iter=350, checkpoint_dir=out)
    model.set_params(keep_draws=["theta", "phi"])
    model.fit(topicloom.read(corpus_file))
    assert status(out) == "finished"
    topicloom.resume(out, max_iter=SWEEPS)
    assert_same_bits(out, uninterrupted)


def test_a_torn_checkpoint_is_refused(uninterrupted: Path, tmp_path: Path) -> None:
    """Only a file system that breaks its promise can tear a checkpoint; then nothing is loaded."""
    shutil.copytree(uninterrupted, tmp_path / "run")
    path = tmp_path / "run" / "chain-1.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(StorageError, match=r"chain-1\.safetensors"):
        topicloom.resume(tmp_path / "run", max_iter=SWEEPS + 1)
    changed = np.frombuffer(whole, np.uint8).copy()
    changed[-50] ^= 1
    path.write_bytes(changed.tobytes())
    with pytest.raises(StorageError, match="does not match its digest"):
        topicloom.resume(tmp_path / "run", max_iter=SWEEPS + 1)
    assert status(tmp_path / "run") == "finished"
