"""Checkpoints of chains on workers: written piece by piece, the bytes of one process, and losses meanwhile."""

from pathlib import Path

import numpy as np
import pytest

from tests.scale.test_chain import CORPUS, KEPT, Failing, same
from topicloom import LDA, resume
from topicloom.corpus.stored import load_corpus, save_corpus
from topicloom.engine import places
from topicloom.errors import InputError, WorkersLostWarning
from topicloom.files.arrays import read_arrays, write_arrays
from topicloom.scale import chain as chains
from topicloom.scale.cluster import InProcess, WorkersLostError
from topicloom.scale.place import Workers

FAILED = "given up for the test"


def test_a_file_written_in_pieces_has_the_bytes_of_one_written_at_once(tmp_path: Path) -> None:
    class Pieces:
        def __init__(self, array: np.ndarray) -> None:
            self.array, self.dtype = array, array.dtype

        def __len__(self) -> int:
            return len(self.array)

        def pieces(self):
            yield from np.array_split(self.array, 3)

    rng = np.random.default_rng(0)
    for z in (rng.integers(9, size=100).astype(np.uint16), rng.integers(9, size=7).astype(np.int32), np.empty(0, "u2")):
        others = {"after": rng.random((3, 4)), "between": np.arange(5, dtype=np.int32), "zz": np.arange(3, dtype="u1")}
        one = write_arrays(tmp_path / "one", {"m": z, **others}, {"a": 1})
        two = write_arrays(tmp_path / "two", {"m": Pieces(z), **others}, {"a": 1})
        assert one == two == read_arrays(tmp_path / "two")[2]
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def checkpoint(folder: Path) -> bytes:
    return (folder / "chain-0.safetensors").read_bytes()


def test_checkpoints_are_written_and_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "_PIECE", 100)
    save_corpus(CORPUS, tmp_path / "c.corpus", mapped=True)
    corpus, cluster = load_corpus(tmp_path / "c.corpus"), InProcess(3)

    def run(folder: Path) -> None:
        LDA(6, checkpoint_dir=folder, **KEPT).fit(corpus, callbacks=[lambda chain: chain.sweep == 7])

    run(tmp_path / "here")
    call = cluster.call
    sizes: list[int] = []

    def sized(worker: int, method: str, *args, **given):
        found = call(worker, method, *args, **given)
        if method in ("topics", "set_topics"):
            sizes.append(len(args[2] if method == "set_topics" else found))
        return found

    monkeypatch.setattr(cluster, "call", sized)
    with places.using(Workers(cluster)):
        run(tmp_path / "there")
        assert checkpoint(tmp_path / "here") == checkpoint(tmp_path / "there")
        assert same(LDA(6, **KEPT).fit(CORPUS), resume(tmp_path / "here"))
    assert max(sizes) == 100 < CORPUS.n_tokens / 4


@pytest.mark.parametrize("method", ["topics", "rows", "add_estimate", "estimate", "log_joint_documents"])
def test_a_worker_that_is_lost_at_a_checkpoint_or_in_the_end_changes_nothing(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FailsIn(Failing):
        """Loses a worker at given calls of a method."""

        def fail(self, worker: int, called: str) -> None:
            if called == method:
                super().fail(worker, called)

    monkeypatch.setattr(chains, "_PIECE", 400)
    one = LDA(6, **KEPT).fit(CORPUS)
    counting = FailsIn(3, set())
    with places.using(Workers(counting)):
        LDA(6, checkpoint_dir=tmp_path / "0", checkpoint_every=4, **KEPT).fit(CORPUS)
    with (
        places.using(Workers(FailsIn(3, {2, counting.calls - 1}))),
        pytest.warns(WorkersLostWarning, match=method) as warned,
    ):
        assert same(one, LDA(6, checkpoint_dir=tmp_path / "1", checkpoint_every=4, **KEPT).fit(CORPUS))
    assert len(warned) == 2
    names = [sorted(path.name for path in (tmp_path / number).iterdir()) for number in "01"]
    assert names[0] == names[1]
    assert checkpoint(tmp_path / "0") == checkpoint(tmp_path / "1")


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(tmp_path: Path) -> None:
    """Workers that are lost for ever, while the second checkpoint is written."""
    cluster, written = InProcess(2), []

    def lose(worker: int, method: str) -> None:
        if method == "topics":
            written.append(method)
            if len(written) > 5:
                raise WorkersLostError(FAILED)

    cluster.before_call = lose
    folder = tmp_path / "run"
    with places.using(Workers(cluster)), pytest.warns(WorkersLostWarning), pytest.raises(InputError, match=FAILED):
        LDA(6, checkpoint_dir=folder, checkpoint_every=4, **KEPT).fit(CORPUS)
    assert sorted(path.name.split("-")[0] for path in folder.iterdir()) == ["chain", "corpus", "manifest.json"]
    assert same(LDA(6, **KEPT).fit(CORPUS), resume(folder))
