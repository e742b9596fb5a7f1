"""What is said about memory on workers: what they hold, what travels, and which fits are refused."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from topicloom import LDA, LabeledLDA
from topicloom.corpus.stored import load_corpus, save_corpus
from topicloom.datasets import zipf
from topicloom.engine import places
from topicloom.errors import InputError, MemoryLimitError
from topicloom.lda.memory import Sizes, estimate
from topicloom.lda.memory_on_workers import CELLS, WORKER, Fit, WorkersPlan, enough_workers, on_workers
from topicloom.scale import actors, sums
from topicloom.scale.cluster import InProcess
from topicloom.scale.place import Workers

CORPUS = zipf(20_000, 400, 5, doc_length=50, exponent=0.5, seed=1).corpus
SHORT = {"n_shards": 4, "max_iter": 3, "trace_every": 3, "random_state": 1}


def planned(n_workers: int, n_topics: int, sampler: str, **given: Any) -> WorkersPlan:
    plan = estimate(CORPUS, n_topics, sampler, n_shards=4, n_workers=n_workers, **given).on_workers
    assert plan is not None
    return plan


@pytest.mark.parametrize("n_workers", [1, 2, 4])
@pytest.mark.parametrize("sampler", ["dense", "sparse"])
def test_workers_hold_and_move_what_is_said(sampler: str, n_workers: int) -> None:
    cluster, held, moved = InProcess(n_workers), [0] * n_workers, [0]

    def measure(worker: int, method: str) -> None:
        own = cluster.workers[worker].chains.get(0)
        if own is not None:
            z = sum(one.z.nbytes for one in own.shards.values())
            held[worker] = max(held[worker], z + sum(part.packed().nbytes for part in own.parts.values()))

    cluster.before_call = measure
    with places.using(Workers(cluster)):
        LDA(30, sampler=sampler, **SHORT).fit(CORPUS, callbacks=[lambda chain: moved.append(chain.state.bytes_moved)])
    plan, per_sweep = planned(n_workers, 30, sampler), np.diff(moved)
    assert max(held) <= plan.worker - WORKER
    if sampler == "dense":
        assert set(per_sweep) == {plan.travels}
    else:
        assert max(per_sweep) <= plan.travels <= 2 * max(per_sweep)  # entries in use, of those there is room for


def test_more_workers_need_less_each_until_all_shards_are_alone() -> None:
    plans = [planned(n, 500, "dense") for n in (1, 2, 4, 9)]
    assert plans[0].worker > plans[1].worker > plans[2].worker
    assert plans[0].travels < plans[1].travels < plans[2].travels
    assert plans[2] == plans[3]
    assert planned(2, 500, "dense", n_chains=3).worker > plans[1].worker
    assert planned(2, 500, "dense", averaged=True).driver > plans[1].driver
    assert planned(2, 500, "dense", estimator="standard").worker < plans[1].worker


def test_sizes_stand_for_a_corpus_in_a_file(tmp_path: Path) -> None:
    save_corpus(CORPUS, tmp_path / "c.corpus", mapped=True)
    sizes, stored = Sizes(CORPUS.n_docs, CORPUS.n_words, CORPUS.n_tokens), load_corpus(tmp_path / "c.corpus")
    found, by_size = (on_workers(one, Fit(50, "dense"), 4, 2) for one in (stored, sizes))
    assert by_size.store <= found.store < planned(2, 50, "dense").store
    assert by_size.worker <= found.worker  # its words are not spread evenly
    assert by_size.travels == found.travels
    assert "on 2 workers, each up to 1" in str(estimate(sizes, 50, n_shards=4, n_workers=2))
    with pytest.raises(InputError, match="n_shards=0 and n_workers=2 must be at least 1"):
        estimate(sizes, 50, n_shards=0, n_workers=2)


def test_what_one_worker_may_not_hold_two_do() -> None:
    memory = (planned(1, 500, "dense").worker + planned(2, 500, "dense").worker) // 2

    def fit(n_workers: int, memory: int, n_shards: int = 4) -> LDA:
        cluster = InProcess(n_workers)
        cluster.before_call = lambda worker, method: calls.append(method)
        with places.using(Workers(cluster, memory)):
            return LDA(500, sampler="dense", **SHORT | {"n_shards": n_shards}).fit(CORPUS)

    calls: list[str] = []
    with pytest.raises(MemoryLimitError, match=r"on 1 worker needs about .* MB per worker, .*2 workers would suffice"):
        fit(1, memory)
    with pytest.raises(MemoryLimitError, match=r"[24] workers with n_shards=[24] would suffice"):
        fit(1, memory, 1)
    with pytest.raises(MemoryLimitError, match="No number of workers would suffice"):
        fit(4, WORKER)
    assert calls == []  # nothing has been started
    assert fit(2, memory).fingerprint_ == LDA(500, sampler="dense", **SHORT).fit(CORPUS).fingerprint_


def test_labels_count_as_topics_where_a_limit_is_given() -> None:
    labels = [[f"l{d % 5}"] for d in range(CORPUS.n_docs)]
    with places.using(Workers(InProcess(2), WORKER)), pytest.raises(MemoryLimitError, match="LabeledLDA with 5 topics"):
        LabeledLDA(burn_in=1, thin=1, **SHORT).fit(CORPUS, labels)


def test_the_fewest_workers_that_suffice() -> None:
    sizes, fit = Sizes(10**7, 100_000, 2 * 10**9), Fit(1000, "sparse")
    for memory in (10**9, 4 * 10**8):
        n, n_shards = enough_workers(sizes, fit, 2, memory) or (0, 0)
        assert n == n_shards
        assert on_workers(sizes, fit, n, n).worker <= memory < on_workers(sizes, fit, n - 1, n - 1).worker
    assert enough_workers(sizes, fit, 2, WORKER) is None


def test_workers_are_as_many_as_there_is_memory_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def node(cpu: float, memory: float, alive: bool = True) -> dict[str, Any]:
        return {"Alive": alive, "Resources": {"CPU": cpu, "memory": memory}}

    nodes = [node(4, 10e9), node(2, 100e9), node(0, 100e9), node(8, 100e9, alive=False)]
    monkeypatch.setattr(actors, "needed_ray", lambda: SimpleNamespace(nodes=lambda: nodes))
    assert actors.RayCluster().n_workers == 6
    assert actors.RayCluster(None, 4 * 10**9).n_workers == 4
    assert actors.RayCluster(3, 4 * 10**9).n_workers == 3
    assert actors.RayCluster(None, 60 * 10**9).n_workers == 1
    with pytest.raises(MemoryLimitError, match=r"is 200.0 GB, and no machine .*; the largest has 100.0 GB"):
        assert actors.RayCluster(None, 200 * 10**9).n_workers


@pytest.mark.parametrize("estimator", ["cgs_p", "standard"])
def test_rows_in_pieces_have_the_bits_of_rows_at_once(estimator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sums._CELLS == CELLS
    monkeypatch.setattr(sums, "_CELLS", 100)

    def fit() -> LDA:
        return LDA(30, sampler="sparse", estimator=estimator, burn_in=1, thin=1, **SHORT).fit(CORPUS)

    with places.using(Workers(InProcess(3))):
        there = fit()
    assert there.fingerprint_ == fit().fingerprint_


def own_bytes(chain: Any) -> int:
    """What the largest worker of a chain has of its own now."""
    place = chain.state.place
    pids = place.cluster.get([place.cluster.call(w, "process") for w in range(place.n_started)])
    lines = [line for pid in pids for line in Path(f"/proc/{pid}/status").read_text().splitlines()]
    return max(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon:"))


@pytest.mark.ray
@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="memory of other processes is measured on Linux alone"
)
def test_two_workers_do_on_ray_within_a_limit_what_one_cannot(ray_cluster) -> None:
    corpus = zipf(40_000, 16_000, 100, exponent=0.0, doc_length=100, seed=1).corpus
    of_one, of_two = (on_workers(corpus, Fit(1500, "dense", soft=False), 8, n).worker for n in (1, 2))
    limit = (of_one + of_two) // 2

    def fit(n_workers: int, memory: int | None) -> tuple[LDA, int]:
        seen: list[int] = []
        cluster = actors.RayCluster(n_workers, memory)
        model = LDA(1500, sampler="dense", estimator="standard", n_shards=8, max_iter=2, random_state=1)
        with places.using(Workers(cluster, memory)):
            return model.fit(corpus, callbacks=[lambda chain: seen.append(own_bytes(chain))]), max(seen)

    one, taken = fit(1, None)  # it also compiles what is not compiled yet
    assert taken > limit
    with pytest.raises(MemoryLimitError, match="2 workers would suffice"):
        fit(1, limit)
    two, taken = fit(2, limit)
    assert taken <= limit
    assert one.fingerprint_ == two.fingerprint_
