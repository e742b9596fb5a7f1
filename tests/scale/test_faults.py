"""What goes wrong on workers: a fit goes on with the same bits, and says what happened."""

import time
from collections import Counter

import pytest

from tests.scale.test_chain import CORPUS, KEPT, same
from topicloom import LDA
from topicloom.corpus.stored import load_corpus, save_corpus
from topicloom.engine import places
from topicloom.errors import StorageError, WorkersLostWarning
from topicloom.scale import chain as chains
from topicloom.scale import place
from topicloom.scale.cluster import InProcess, StoreFullError, WorkersLostError
from topicloom.scale.place import Workers

FITS = KEPT | {"max_iter": 24, "burn_in": 20, "learn_priors": True}  # learns in sweep 20


@pytest.fixture(autouse=True)
def copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Topics are copied often, and nobody waits."""
    monkeypatch.setattr(chains, "_KEEP_EVERY", 0.0)
    monkeypatch.setattr(chains, "_COSTS", 0.0)
    monkeypatch.setattr(place, "_PAUSE", 0.0)


class Faulty(InProcess):
    """Workers of which some calls fail: by method, the numbers of its calls and what is raised."""

    def __init__(self, n_workers: int, method: str = "", at: tuple[int, ...] = (), error=WorkersLostError) -> None:
        super().__init__(n_workers)
        self.called: Counter[str] = Counter()
        self.before_call = self.count
        self.method, self.at, self.error = method, at, error
        self.started: list[int] = []

    def start(self, n_workers: int, *args) -> int:
        self.started.append(super().start(n_workers, *args))
        return self.started[-1]

    def count(self, worker: int, method: str) -> None:
        self.called[method] += 1
        if method == self.method and self.called[method] in self.at:
            raise self.error(f"in {method}")


def fit(cluster: InProcess, **params) -> LDA:
    with places.using(Workers(cluster)):
        return LDA(6, **FITS | params).fit(CORPUS)


@pytest.mark.parametrize("estimator", ["cgs_p", "standard"])
def test_a_worker_may_be_lost_in_every_call(estimator: str) -> None:
    one, whole = LDA(6, estimator=estimator, **FITS).fit(CORPUS), Faulty(3)
    assert same(one, fit(whole, estimator=estimator))
    methods = set(whole.called) if estimator == "cgs_p" else {"rows", "estimate", "topics"}
    for method in sorted(methods):
        last = whole.called[method]
        with pytest.warns(WorkersLostWarning, match=f"a worker was lost .in {method}.; .* on 3 workers"):
            assert same(one, fit(Faulty(3, method, (last // 2 + 1, last + 1)), estimator=estimator)), method


def test_workers_may_be_fewer_after_a_loss_and_more_after_another() -> None:
    cluster = Faulty(3, "visit", (50, 150, 250))
    numbers = iter((3, 1, 4, 2))

    def start(n_workers: int, *args) -> int:
        cluster.n_workers = next(numbers)
        return Faulty.start(cluster, n_workers, *args)

    cluster.start = start
    with pytest.warns(WorkersLostWarning) as warned:
        assert same(LDA(6, **FITS).fit(CORPUS), fit(cluster))
    assert cluster.started == [3, 1, 4, 2]
    said = [str(each.message) for each in warned]
    assert [text.split(", on ")[1].split(".")[0] for text in said] == ["1 worker", "4 workers", "2 workers"]


def test_a_full_object_store_is_waited_for() -> None:
    one = LDA(6, **FITS).fit(CORPUS)
    with pytest.warns(WorkersLostWarning, match="the object store was full .in visit"):
        assert same(one, fit(Faulty(3, "visit", (7, 60), StoreFullError)))


def test_losses_are_forgotten_when_work_is_done_after_them() -> None:
    """A run of days may lose more workers than a fit tolerates in a row."""
    cluster, more = Faulty(3, "visit", tuple(range(20, 800, 20))), {"max_iter": 40}
    one = LDA(6, **FITS | more).fit(CORPUS)
    with pytest.warns(WorkersLostWarning) as warned:
        assert same(one, fit(cluster, **more))
    assert len(warned) > 30 > place._TRIES


def test_where_there_is_no_room_for_copies_the_last_one_serves() -> None:
    """Copies of topics are left out without a word; a loss after that repeats more sweeps."""
    full = Faulty(3, "visit", (200,))
    full.wait = lambda refs: (_ for _ in ()).throw(StoreFullError("no room")) if full.called["visit"] > 60 else None
    with pytest.warns(WorkersLostWarning, match="a worker was lost") as warned:
        assert same(LDA(6, **FITS).fit(CORPUS), fit(full))
    assert len(warned) == 1


def test_a_slow_worker_changes_nothing_but_time() -> None:
    slow = InProcess(3)
    slow.before_call = lambda worker, method: time.sleep(0.002 if worker == 1 else 0.0)
    assert same(LDA(6, **FITS).fit(CORPUS), fit(slow))


def test_a_worker_that_does_not_see_the_corpus_file_is_sent_its_documents(tmp_path) -> None:
    save_corpus(CORPUS, tmp_path / "c.corpus", mapped=True)
    elsewhere = InProcess(2)
    call, sent = elsewhere.call, []

    def begin(worker: int, method: str, *args, **given):
        if method == "begin" and worker == 1:
            sent.append(all(source.path is None for source in args[3].values()))
            if not sent[-1]:
                raise StorageError("c.corpus cannot be read")
        return call(worker, method, *args, **given)

    elsewhere.call = begin
    one, corpus = LDA(6, **KEPT).fit(CORPUS), load_corpus(tmp_path / "c.corpus")
    with places.using(Workers(elsewhere)):
        assert same(one, LDA(6, **KEPT).fit(corpus))
    assert sent == [False, True]
