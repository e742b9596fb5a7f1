"""The on-line start: each token's topic is drawn given those of the tokens before it."""

import numpy as np
import pytest

from tests.oracles import lda as oracle
from topicloom.engine.sampler import Key
from topicloom.engine.state import rebuild_lists
from topicloom.lda.gibbs import auto as samplers
from topicloom.lda.gibbs import get_sampler

MANY = oracle.Case(
    oracle.tiny_corpus([[0], [1], [0], [1], [1], [0], [0], [1], [0, 1], [1]], 2),
    oracle.make_prior(np.array([0.1, 0.3]), np.array([0.05, 0.1]), 10),
)


@pytest.fixture(autouse=True)
def on_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samplers, "_ONLINE", 0)


def starts(case: oracle.Case, n: int) -> np.ndarray:
    init = get_sampler("auto").init
    numbers = (oracle.state_number(init(case.corpus, case.prior, Key(3, r, 0)).z, case.n_topics) for r in range(n))
    return np.bincount(list(numbers), minlength=case.n_topics**case.corpus.n_tokens)


@pytest.mark.parametrize("which", oracle.cases())
def test_start_is_distributed_as_said(which: str) -> None:
    case = oracle.cases()[which]
    _, p = oracle.start_probabilities(case, list(range(case.corpus.n_tokens)))
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert oracle.chi_square(starts(case, 12_000), p) > oracle.FALSE_ALARM


def test_documents_are_taken_in_strides() -> None:
    _, strided = oracle.start_probabilities(MANY, [0, 8, 9, 1, 10, 2, 3, 4, 5, 6, 7])
    _, in_order = oracle.start_probabilities(MANY, list(range(11)))
    found = starts(MANY, 12_000)
    assert oracle.chi_square(found, strided) > oracle.FALSE_ALARM
    assert oracle.chi_square(found, in_order) < 1e-9


def test_state_is_the_one_that_its_topics_imply() -> None:
    case, _ = oracle.random_case(5, n_docs=40, n_words=9, n_topics=7)
    state = get_sampler("auto").init(case.corpus, case.prior, Key(1, 0, 0))
    for found, expected in zip(state, rebuild_lists(case.corpus, state.z, 7), strict=True):
        if found is not state.entries:
            assert np.array_equal(found, expected)
    for v in range(case.corpus.n_words):
        own = slice(state.list_ptr[v], state.list_ptr[v] + state.list_size[v])
        assert np.array_equal(state.entries[own], rebuild_lists(case.corpus, state.z, 7).entries[own])


def test_few_topics_start_at_random(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    case, _ = oracle.random_case(5, n_docs=40, n_words=9, n_topics=7)
    found, expected = (get_sampler(name).init(case.corpus, case.prior, Key(1, 0, 0)).z for name in ("auto", "sparse"))
    assert np.array_equal(found, expected)
