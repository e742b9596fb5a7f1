"""Chains on Ray: the bits of one thread on 1, 2 and 4 workers, on two nodes, and after losses of every kind."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path
from threading import Timer

import numpy as np
import pytest

from tests.scale.test_chain import CORPUS, GROUPS, KEPT, LABELS, SHORT, same
from topicloom import LDA, CompoundLDA, LabeledLDA, resume, scale
from topicloom.corpus.stored import save_corpus
from topicloom.engine import places
from topicloom.errors import InputError, WorkersLostWarning

pytestmark = pytest.mark.ray


def workers(chain) -> list[int]:
    """Processes of the workers of a chain."""
    place = chain.state.place
    return place.cluster.get([place.cluster.call(w, "process") for w in range(place.n_started)])


def alive(process: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(happened) -> None:
    until = time.monotonic() + 60.0
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("make", "args", "given"),
    [
        (lambda: LDA(6, sampler="dense", **KEPT), (), {}),
        (lambda: LDA(6, sampler="sparse", **KEPT), (), {}),
        (lambda: LDA(6, sampler="words", **SHORT), (), {}),
        (lambda: CompoundLDA(6, **KEPT), (), {"groups": GROUPS}),
        (lambda: LabeledLDA(**KEPT), (LABELS,), {}),
    ],
    ids=["dense", "sparse", "words", "compound", "labeled"],
)
def test_any_number_of_workers_on_two_nodes_gives_the_bits_of_a_thread(ray_cluster, make, args, given) -> None:
    one, two = (make().set_params(n_jobs=n).fit(CORPUS, *args, **given) for n in (1, 2))
    assert same(one, two)
    for n_workers in (1, 2, 4):
        with scale.ray(n_workers=n_workers):
            assert same(one, make().fit(CORPUS, *args, **given))


def test_workers_killed_at_random_moments_change_nothing(ray_cluster) -> None:
    random, kills = np.random.default_rng(7), []

    def kill(process: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)

    def aim(chain) -> None:
        if len(kills) < 10 and chain.sweep == 3 * (len(kills) + 1):
            kills.append(Timer(random.uniform(0.0, 0.03), kill, [workers(chain)[random.integers(2)]]))
            kills[-1].start()

    more = KEPT | {"max_iter": 31}
    with scale.ray(n_workers=2), pytest.warns(WorkersLostWarning, match="the fit repeats the sweeps"):
        two = LDA(6, **more).fit(CORPUS, callbacks=[aim])
    assert len(kills) == 10
    assert same(LDA(6, **more).fit(CORPUS), two)


def test_a_node_that_goes_away_changes_nothing(ray_cluster) -> None:
    lost = []

    def lose(chain) -> None:
        if chain.sweep == 5 and not lost:
            lost.append(chain.sweep)
            there = workers(chain)
            ray_cluster.lose_node()
            wait_until(lambda: any(not alive(process) for process in there))  # they notice it by themselves

    with scale.ray(), pytest.warns(WorkersLostWarning):
        two = LDA(6, **KEPT).fit(CORPUS, callbacks=[lose])
    ray_cluster.add_node()
    assert lost
    assert same(LDA(6, **KEPT).fit(CORPUS), two)


def test_a_killed_driver_is_resumed_on_threads(ray_cluster, tmp_path: Path) -> None:
    save_corpus(CORPUS, tmp_path / "c.corpus", mapped=True)
    script = f"""
        import os, signal
        from topicloom import LDA, scale
        from topicloom.corpus.stored import load_corpus

        def kill(chain):
            if chain.sweep == 9:
                os.kill(os.getpid(), signal.SIGKILL)

        with scale.ray({ray_cluster.address!r}, n_workers=2):
            LDA(6, checkpoint_dir={str(tmp_path / "run")!r}, checkpoint_every=4, **{KEPT!r}).fit(
                load_corpus({str(tmp_path / "c.corpus")!r}), callbacks=[kill]
            )
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert same(LDA(6, **KEPT).fit(CORPUS), resume(tmp_path / "run"))


def test_the_context_ends_with_the_place_that_was_before(ray_cluster) -> None:
    with scale.ray():
        assert places._place.get() is not None
    assert places._place.get() is None


def test_what_cannot_be_started_is_refused(ray_cluster) -> None:
    with pytest.raises(InputError, match="has started or joined Ray already"), scale.ray("192.0.2.1:6379"):
        pass
    with pytest.raises(InputError, match="n_workers"), scale.ray(n_workers=0):
        pass
