"""Sweeps word by word: exact in steps of any size, and what they leave is what the topics imply."""

import numpy as np
import pytest

from tests.oracles import lda as oracle
from topicloom.corpus import Corpus
from topicloom.datasets import zipf
from topicloom.engine.prior import Prior, make_prior
from topicloom.engine.sampler import Key, Schedule
from topicloom.engine.state import SparseState, rebuild_lists
from topicloom.lda.gibbs import auto as samplers
from topicloom.lda.gibbs import get_sampler
from topicloom.lda.gibbs import word_order as words


@pytest.fixture(params=["steps of a document or two", "wide numbers"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "wide numbers":
        monkeypatch.setattr(words, "_NARROW", 0)
        monkeypatch.setattr(words, "_MOST", 0)
    else:
        monkeypatch.setattr(words, "AT_ONCE", 3)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("which", oracle.cases())
def test_posterior_is_invariant(which: str) -> None:
    case, kernel = oracle.cases()[which], get_sampler("words")

    def sweep(z: np.ndarray, replicate: int) -> np.ndarray:
        state = kernel.restore(case.corpus, z, case.n_topics)
        for t in range(2):
            state, _ = kernel.sweep(case.corpus, state, case.prior, Key(41, replicate, t), Schedule())
        return state.z

    assert oracle.invariance(case, sweep, 12_000, seed=42) > oracle.FALSE_ALARM


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("n_shards", [1, 3])
def test_lists_are_those_of_the_topics_and_threads_change_nothing(n_shards: int) -> None:
    corpus = zipf(6000, 60, 5, doc_length=40, seed=3).corpus
    prior = make_prior(np.full(25, 0.1), np.full(60, 0.05), corpus.n_docs, {2: np.linspace(0, 1, 25)})
    kernel, found = get_sampler("words"), []
    for n_jobs in (1, 2, 3):
        state = kernel.init(corpus, prior, Key(5, 0, 0))
        for t in range(6):
            state, info = kernel.sweep(corpus, state, prior, Key(5, 0, t + 1), Schedule(n_shards, n_jobs))
        assert isinstance(state, SparseState)
        rebuilt = rebuild_lists(corpus, state.z, 25)
        assert np.array_equal(state.list_size, rebuilt.list_size)
        assert np.array_equal(state.topic, rebuilt.topic)
        for v in range(corpus.n_words):
            own = slice(state.list_ptr[v], state.list_ptr[v] + state.list_size[v])
            assert np.array_equal(state.entries[own], rebuilt.entries[own])
        found.append((state.z.tobytes(), info))
    assert found[0] == found[1] == found[2]


def test_steps_are_whole_documents_that_cover_a_range(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = zipf(2000, 60, 5, doc_length=40, seed=3).corpus
    assert words.steps_of(corpus, (3, 30)) == [(3, 30)]
    monkeypatch.setattr(words, "AT_ONCE", 200)
    steps = words.steps_of(corpus, (3, 30))
    assert len(steps) > 3
    assert [steps[0][0], *(stop for _, stop in steps)] == [*(start for start, _ in steps), 30]


def settled(n_tokens: int, n_topics: int, alpha_sum: float = 10.0) -> tuple[Corpus, SparseState, Prior]:
    corpus = zipf(n_tokens, 300, 10, doc_length=30, seed=3).corpus
    prior = make_prior(np.full(n_topics, alpha_sum / n_topics), np.full(300, 0.01), corpus.n_docs)
    state = get_sampler("sparse").init(corpus, prior, Key(5, 0, 0))
    assert isinstance(state, SparseState)
    return corpus, state, prior


def quickest(corpus: Corpus, state: SparseState, prior: Prior) -> str:
    costs = samplers.expected(corpus, state, prior)
    return min(costs, key=costs.__getitem__)


def test_auto_goes_word_by_word_where_lists_are_longer_than_documents_topics_are_many() -> None:
    assert quickest(*settled(40_000, 1000)) == "words"
    assert quickest(*settled(600, 1000)) == "sparse"
    assert quickest(*settled(40_000, 20)) == "dense"


def test_auto_knows_that_draws_from_the_prior_search_a_list() -> None:
    few, many = (samplers.expected(*settled(40_000, 1000, alpha_sum))["words"] for alpha_sum in (1.0, 1e5))
    assert many > 1.5 * few


def test_auto_takes_the_sweep_that_it_expects_to_be_quickest() -> None:
    corpus, state, prior = settled(40_000, 1000)
    z, key = state.z.copy(), Key(5, 0, 1)
    found, _ = get_sampler("auto").sweep(corpus, state, prior, key, Schedule())
    same, _ = get_sampler("words").sweep(corpus, rebuild_lists(corpus, z, 1000), prior, key, Schedule())
    assert np.array_equal(found.z, same.z)
