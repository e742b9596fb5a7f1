"""Variational fits whose documents are fitted in tasks: the bits of one process."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.lda.variational_fits import small_corpus, small_counts
from topicloom import CompoundLDA, VariationalLDA, resume, scale
from topicloom.corpus._executors import using
from topicloom.corpus.stored import load_corpus, save_corpus
from topicloom.engine import places
from topicloom.errors import InputError
from topicloom.lda.variational import tasks
from topicloom.scale.cluster import InProcess
from topicloom.scale.place import Workers

CORPUS = small_corpus()
QUICK = {"max_iter": 4, "tol": 0.0, "random_state": 1, "batch_size": 25}


class Sent:
    """Does tasks here, with what arrives in another process: copies that cannot be written to."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self.sizes: list[int] = []

    def map(self, function: Callable[[Any], Any], given: Iterable[Any]) -> Iterator[Any]:
        function = arrived(function)
        for task in given:
            self.sizes.append(len(pickle.dumps(task)))
            yield arrived(function(arrived(task)))


def arrived(value: Any) -> Any:
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(value, 5, buffer_callback=buffers.append)
    return pickle.loads(text, buffers=[bytes(buffer.raw()) for buffer in buffers])


@pytest.fixture(autouse=True)
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_LEAST", 100)


def same(one: Any, two: Any) -> bool:
    return one.fingerprint_ == two.fingerprint_ and all(
        a == b and p.prior.alpha.tolist() == q.prior.alpha.tolist()
        for a, b, p, q in zip(one.traces_, two.traces_, one.chains_, two.chains_, strict=True)
    )


@pytest.mark.parametrize("method", ["scvb0", "svb", "vb"])
@pytest.mark.parametrize("learn", [False, True])
def test_tasks_give_the_bits_of_one_process(method: str, learn: bool) -> None:
    model = VariationalLDA(4, method=method, learn_priors=learn, n_chains=1 + learn, **QUICK)
    one = model.fit(small_counts(CORPUS))
    found = one.transform(CORPUS)
    for n_workers in (1, 2, 5):
        executor = Sent(n_workers)
        with using(executor), places.using(Workers(InProcess(2))):
            two = VariationalLDA(**model.get_params()).fit(small_counts(CORPUS))
            assert same(one, two)
            assert np.array_equal(two.transform(CORPUS), found)
        assert len(executor.sizes) >= 2 * n_workers


@pytest.mark.filterwarnings("ignore:not converged after")
def test_weights_collections_and_streams_are_learned_in_tasks() -> None:
    def fits() -> list[Any]:
        stream = VariationalLDA(4, method="svb", total_samples=60, **QUICK).partial_fit(CORPUS, score_first=True)
        weighted = VariationalLDA(4, method="scvb0", **QUICK).fit(CORPUS.to_matrix() * 0.3)
        compound = CompoundLDA(4, method="vem", max_iter=3, random_state=1)
        return [stream, weighted, compound.fit(CORPUS, [d % 3 for d in range(CORPUS.n_docs)])]

    here = fits()
    executor = Sent(3)
    with using(executor), places.using(Workers(InProcess(2))):
        assert all(map(same, here, fits()))
    assert executor.sizes


def test_a_stored_corpus_is_learned_without_its_pairs_and_a_run_goes_on_elsewhere(tmp_path) -> None:
    save_corpus(CORPUS, tmp_path / "c.corpus", mapped=True)
    corpus = load_corpus(tmp_path / "c.corpus")
    one = VariationalLDA(4, method="svb", **QUICK).fit(CORPUS)
    with using(Sent(2)), places.using(Workers(InProcess(2))):
        folder, pairs = tmp_path / "run", []
        model = VariationalLDA(4, method="svb", checkpoint_dir=folder, **QUICK | {"max_iter": 2})
        model.fit(corpus, callbacks=[lambda chain: pairs.append("pairs" in vars(corpus))])
        assert pairs == [False, False]
    assert same(one, resume(folder, max_iter=4))


def test_what_is_small_stays_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_LEAST", 1 << 20)
    executor = Sent(2)
    with using(executor):
        VariationalLDA(4, method="svb", **QUICK).fit(CORPUS)
    assert not executor.sizes


@pytest.mark.parametrize("method", ["cvb0", "cvb", "cvb_exact"])
def test_passes_over_pairs_do_not_run_in_tasks(method: str) -> None:
    with places.using(Workers(InProcess(2))), pytest.raises(InputError, match="does not run on a cluster"):
        VariationalLDA(4, method=method).fit(CORPUS)


@pytest.mark.ray
def test_ray_gives_the_bits_of_one_process(ray_cluster) -> None:
    one = VariationalLDA(4, method="svb", learn_priors=True, **QUICK).fit(CORPUS)
    for n_workers in (1, 2):
        with scale.ray(n_workers=n_workers):
            two = VariationalLDA(4, method="svb", learn_priors=True, **QUICK).fit(CORPUS)
            assert same(one, two)
            assert np.array_equal(one.transform(CORPUS), two.transform(CORPUS))
