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
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from tests.scale.test_chain import CORPUS, GROUPS, KEPT, LABELS, same
from topicloom import LDA, CompoundLDA, LabeledLDA, resume, scale
from topicloom.corpus.stored import save_corpus
from topicloom.datasets import zipf
from topicloom.engine import places
from topicloom.errors import InputError, WorkersLostWarning
from topicloom.scale import chain as chains
from topicloom.scale import place

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
    until = time.monotonic() + 300.0
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.05)


MODELS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "dense": (LDA(6, sampler="dense"), (), {}),
    "sparse": (LDA(6, sampler="sparse"), (), {}),
    "words": (LDA(6, sampler="words"), (), {}),
    "compound": (CompoundLDA(6), (), {"groups": GROUPS}),
    "labeled": (LabeledLDA(), (LABELS,), {}),
}
each_model = pytest.mark.parametrize("name", MODELS)


def fitted(name: str, callbacks: tuple[Any, ...] = (), **params: Any) -> Any:
    """A model of those above, fitted where fits are to run now."""
    model, args, given = MODELS[name]
    return clone(model).set_params(**KEPT | params).fit(CORPUS, *args, callbacks=callbacks, **given)


def nodes(chain: Any, ray: Any) -> list[str]:
    """The node of each worker of a chain."""
    actors = chain.state.place.cluster._actors
    return ray.get([one.__ray_call__.remote(lambda _: ray.get_runtime_context().get_node_id()) for one in actors])


@each_model
def test_any_number_of_workers_on_two_nodes_gives_the_bits_of_a_thread(ray_cluster, name: str) -> None:
    one, two = (fitted(name, n_jobs=n) for n in (1, 2))
    assert same(one, two)
    found: list[list[str]] = []
    for n_workers in (1, 2, 4):
        with scale.ray(n_workers=n_workers):
            assert same(one, fitted(name, (lambda chain: found.append(nodes(chain, ray_cluster.ray)),)))
        assert len(found[-1]) == n_workers
    assert len(set(found[-1])) == 2  # with two workers each


@each_model
def test_workers_killed_at_ten_random_moments_change_nothing(
    ray_cluster, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First they begin again from the start, then from copies of their topics."""
    random, killed, moments, from_copy = np.random.default_rng(list(MODELS).index(name)), [], [], []
    start_again = chains.ShardedChain.start_again

    def counted(chain) -> None:
        from_copy.append(chain._kept is not None)
        start_again(chain)

    def kill(process: int) -> None:
        os.kill(process, signal.SIGKILL)
        killed.append(process)

    def aim(chain) -> None:
        if chain.sweep % 2 or len(moments) == 10:
            return
        if moments:  # that worker was there until then, and is not any more
            moments[-1].join()
            wait_until(lambda: not alive(killed[-1]))
        there = chain.state.safely(lambda: workers(chain))  # others take the place of those that are lost
        if len(moments) == 5:
            monkeypatch.setattr(chains, "_KEEP_EVERY", 0.0)
            monkeypatch.setattr(chains, "_COSTS", 0.0)
        moments.append(Timer(random.uniform(0.0, 0.1), kill, [there[random.integers(2)]]))
        moments[-1].start()

    more = KEPT | {"max_iter": 25}
    monkeypatch.setattr(chains.ShardedChain, "start_again", counted)
    monkeypatch.setattr(chains, "_KEEP_EVERY", 1e9)  # no copies at first, however slow the machine is
    with scale.ray(n_workers=2), pytest.warns(WorkersLostWarning, match="the fit repeats the sweeps") as warned:
        two = fitted(name, (aim,), **more)
    assert len(set(killed)) == 10
    assert len(warned) == 10  # each was noticed
    assert from_copy.count(False) >= 5
    assert from_copy.count(True) >= 4
    assert same(fitted(name, **more), two)


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


def test_an_object_store_that_is_full_for_a_while_changes_nothing(ray_cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both nodes' stores are full of what others need, until the fit waits for room."""
    ray, actors = ray_cluster.ray, []

    def take_all(worker: Any) -> int:
        worker.taken = []
        for size in (20 << 20, 4 << 20, 1 << 20, 1 << 18, 1 << 17):
            with suppress(ray.exceptions.OutOfDiskError, ray.exceptions.ObjectStoreFullError):
                while True:
                    worker.taken.append(ray.put(np.zeros(size, np.uint8)))
        return len(worker.taken)

    def fill(chain) -> None:
        if chain.sweep == 3 and not actors:
            actors.extend(chain.state.place.cluster._actors)
            assert min(ray.get([one.__ray_call__.remote(take_all) for one in actors])) >= 4

    def give_back(seconds: float) -> None:
        ray.get([one.__ray_call__.remote(lambda worker: worker.taken.clear()) for one in actors])
        time.sleep(seconds)

    corpus = zipf(10_000, 4000, 20, doc_length=100, seed=1).corpus  # its parts are too large for a message
    model = LDA(100, sampler="dense", estimator="standard", n_shards=2, max_iter=6, random_state=1)
    monkeypatch.setattr(place, "time", SimpleNamespace(sleep=give_back))
    with scale.ray(n_workers=2), pytest.warns(WorkersLostWarning, match="the object store was full .*on 2 workers"):
        two = clone(model).fit(corpus, callbacks=[fill])
    assert actors
    assert same(model.fit(corpus), two)


@each_model
def test_a_killed_driver_is_resumed_on_threads(ray_cluster, name: str, tmp_path: Path) -> None:
    model, args, given = MODELS[name]
    save_corpus(CORPUS, tmp_path / "c.corpus", mapped=True)
    params = model.get_params() | KEPT | {"checkpoint_dir": str(tmp_path / "run"), "checkpoint_every": 4}
    script = f"""
        import os, signal
        from topicloom import {type(model).__name__}, scale
        from topicloom.corpus.stored import load_corpus

        def kill(chain):
            if chain.sweep == 9:
                os.kill(os.getpid(), signal.SIGKILL)

        with scale.ray({ray_cluster.address!r}, n_workers=2):
            {type(model).__name__}(**{params!r}).fit(
                load_corpus({str(tmp_path / "c.corpus")!r}), *{args!r}, callbacks=[kill], **{given!r}
            )
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    one, resumed = fitted(name), resume(tmp_path / "run", n_jobs=2)
    assert same(one, resumed)


def test_the_context_ends_with_the_place_that_was_before(ray_cluster) -> None:
    with scale.ray():
        assert places._place.get() is not None
    assert places._place.get() is None


def test_what_cannot_be_started_is_refused(ray_cluster) -> None:
    with pytest.raises(InputError, match="has started or joined Ray already"), scale.ray("192.0.2.1:6379"):
        pass
    with pytest.raises(InputError, match="n_workers"), scale.ray(n_workers=0):
        pass
