"""Tokens of long words, drawn by their documents' topics: exact, whichever words are chosen."""

import numpy as np
import pytest

import oracle
from topicloom.corpus import Corpus
from topicloom.datasets import zipf
from topicloom.inference import long_words, samplers
from topicloom.inference.kernel import Key, Prior, Schedule, get_kernel, make_prior
from topicloom.inference.state import SparseState, rebuild_lists

WAYS = {"all words": slice(None), "every other word": slice(None, None, 2)}


@pytest.fixture(params=WAYS)
def chosen(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words are long that the rule would not choose in so small a corpus."""

    def choose(corpus: Corpus, state: SparseState, prior: Prior) -> long_words.Choice:
        words = np.flatnonzero(prior.boost_row < 0)[WAYS[request.param]]
        return long_words.Choice(words.astype(np.int32), np.ones(corpus.n_words))

    monkeypatch.setattr(samplers, "choose", choose)


@pytest.mark.usefixtures("chosen")
@pytest.mark.parametrize("which", oracle.cases())
def test_posterior_is_invariant(which: str) -> None:
    case, kernel = oracle.cases()[which], get_kernel("sparse")

    def sweep(z: np.ndarray, replicate: int) -> np.ndarray:
        state = kernel.restore(case.corpus, z, case.n_topics)
        for t in range(2):
            state, _ = kernel.sweep(case.corpus, state, case.prior, Key(41, replicate, t), Schedule())
        return state.z

    assert oracle.invariance(case, sweep, 12_000, seed=42) > oracle.FALSE_ALARM


@pytest.mark.usefixtures("chosen")
@pytest.mark.parametrize("n_shards", [1, 3])
def test_lists_are_those_of_the_topics_and_threads_change_nothing(n_shards: int) -> None:
    corpus = zipf(6000, 60, 5, doc_length=40, seed=3).corpus
    prior = make_prior(np.full(25, 0.1), np.full(60, 0.05), corpus.n_docs, {2: np.linspace(0, 1, 25)})
    kernel, found = get_kernel("sparse"), []
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


def settled(n_topics: int, alpha: float) -> tuple[Corpus, SparseState, Prior]:
    corpus = zipf(40_000, 300, 10, doc_length=30, seed=3).corpus
    prior = make_prior(np.full(n_topics, alpha), np.full(300, 0.01), corpus.n_docs, {0: np.ones(n_topics)})
    state = get_kernel("sparse").init(corpus, prior, Key(5, 0, 0))
    assert isinstance(state, SparseState)
    return corpus, state, prior


def test_long_are_words_whose_lists_are_longer_than_documents_topics() -> None:
    corpus, state, prior = settled(100, 0.01)
    choice = long_words.choose(corpus, state, prior)
    assert 0 < len(choice.words) < 300
    assert 0 not in choice.words  # a seed word
    others = np.setdiff1d(np.arange(1, 300), choice.words)
    assert state.list_size[choice.words].min() > state.list_size[others].max()
    assert long_words.mean_work(corpus, choice) < corpus.word_counts @ state.list_size / corpus.n_tokens


def test_rows_take_no_more_than_twice_what_lists_do() -> None:
    corpus, state, prior = settled(3000, 0.01)
    rows = long_words.new_rows(prior, long_words.candidates(corpus, prior)).rows
    assert len(rows) > 0
    assert rows.nbytes <= 2 * state.entries.nbytes


def test_none_is_long_where_most_draws_come_from_the_prior() -> None:
    """Then lists would be searched after all."""
    few, many = (len(long_words.choose(*settled(100, alpha)).words) for alpha in (0.01, 100.0))
    assert few > many
