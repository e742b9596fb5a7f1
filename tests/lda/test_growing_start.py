"""A start on some of the tokens, to which the others are added."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.helpers.mutating import compiled_mutant
from tests.oracles import lda as oracle
from topicloom import LDA, CompoundLDA, Corpus
from topicloom.datasets import synthetic_lda
from topicloom.engine.prior import make_prior
from topicloom.engine.sampler import Key, Schedule
from topicloom.engine.state import new_lists
from topicloom.lda.gibbs import get_sampler, growing_start
from topicloom.lda.gibbs.growing_start import NOTHING, grow, parts_of, tokens_of_part, with_growing_start
from topicloom.lda.gibbs.joint import log_joint
from topicloom.lda.gibbs.online_start import frequent_words, new_rows, place_others
from topicloom.numerics.rng import stream

CORPUS = synthetic_lda(n_docs=400, n_words=100, n_topics=8, doc_length=20.0, seed=3).corpus
N_REPLICATES = 8000


def prior_of(n_topics: int, corpus: Any = CORPUS, **more: Any) -> Any:
    return make_prior(np.full(n_topics, 0.1), np.full(corpus.n_words, 0.1), corpus.n_docs, **more)


@pytest.fixture
def of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small corpora grow, too."""
    monkeypatch.setattr(growing_start, "_LEAST", 1000)


# -- placing tokens beside others that are given ----------------------------------------------------------------------


def placed_p_value(case: oracle.Case, place: Any) -> float:
    """p-value of what is placed beside every other token, which all have the last topic."""
    corpus, k = case.corpus, case.n_topics
    given, others = range(0, corpus.n_tokens, 2), range(1, corpus.n_tokens, 2)
    states, probability = oracle.start_probabilities(case, [*given, *others])
    probability = np.where((states[:, given] == k - 1).all(axis=1), probability, 0.0)
    observed, z = np.zeros(len(states)), np.full(corpus.n_tokens, NOTHING, np.uint16)
    z[given] = k - 1
    for replicate in range(N_REPLICATES):
        found = place(corpus, z.copy(), NOTHING, case.prior, stream(7, replicate))
        assert (found[given] == k - 1).all()
        observed[oracle.state_number(found, k)] += 1
    possible = probability > 0
    assert observed[~possible].sum() == 0
    return oracle.chi_square(observed[possible], probability[possible] / probability.sum())


@pytest.mark.parametrize("name", list(oracle.cases()))
def test_others_are_placed_as_if_the_given_ones_had_been_placed_first(name: str) -> None:
    p = placed_p_value(oracle.cases()[name], lambda *given: place_others(*given).z)
    assert p > oracle.FALSE_ALARM


WRONG = {
    "totals of given tokens": ("        totals[k] += 1", "        totals[k] += 0"),
    "given tokens in no row": ("_join_long(frequent.rows, r, start, size, entries, k)", "size"),
    "given tokens in no list": ("_join(entries, start, size, find(entries, start, size, k), k)", "size"),
    "given tokens not in their document": (
        "        lines[k, DOC] += 1.0\n    for j",
        "        lines[k, DOC] += 0.0\n    for j",
    ),
    "no shares of a document's given topics": ("share[j] = lines[k, DOC] * lines[k, INVERSE]", "share[j] = 0.0"),
}


@pytest.mark.parametrize("what", list(WRONG))
def test_given_tokens_that_are_not_counted_are_noticed(what: str) -> None:
    wrong = compiled_mutant("lda.gibbs.online_start", WRONG[what])

    def place(corpus: Any, z: Any, nothing: int, prior: Any, rng: Any) -> Any:
        state = new_lists(corpus, z, prior.n_topics)
        words = np.zeros(0, np.int32) if what == "given tokens in no list" else frequent_words(corpus, prior)
        wrong.place_first(corpus, state, prior, new_rows(prior, words), rng, nothing=nothing)
        return state.z

    assert min(placed_p_value(case, place) for case in oracle.cases().values()) < oracle.FALSE_ALARM


# -- which tokens -----------------------------------------------------------------------------------------------------


def sizes_of(corpus: Corpus, n_topics: int) -> list[float]:
    """The parts' shares of all tokens."""
    docs, found = np.arange(corpus.n_docs), []
    for part in parts_of(corpus, prior_of(n_topics, corpus)):
        found.append(len(tokens_of_part(corpus, docs[: part.n_docs], part.shares)[0]) / corpus.n_tokens)
    return found


def test_tokens_become_more_step_by_step(of_any_size: None) -> None:
    found = [*sizes_of(CORPUS, 4), 1.0]
    assert found[0] == pytest.approx(1 / 8, abs=0.02)
    assert all(1 < more / few <= 4.2 for few, more in pairwise(found))


def test_many_topics_need_more(of_any_size: None) -> None:
    assert sizes_of(CORPUS, 10)[0] == pytest.approx(200 * 10 / CORPUS.n_tokens, abs=0.02)
    assert sizes_of(CORPUS, 30) == []


def test_large_parts_are_not_swept(of_any_size: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_start, "_ENOUGH", 400)  # tokens
    monkeypatch.setattr(growing_start, "MOST_TOKENS", 1500)
    found = sizes_of(CORPUS, 2)
    assert len(found) == 2
    assert found[-1] * CORPUS.n_tokens <= 1600


def test_long_documents_have_a_part_of_their_tokens(of_any_size: None) -> None:
    """All over the document, and the parts before are in those that follow."""
    corpus = synthetic_lda(n_docs=20, n_words=50, n_topics=3, doc_length=2000.0, seed=4).corpus
    before: set[int] = set()
    for part in parts_of(corpus, prior_of(3, corpus)):
        assert part.n_docs == corpus.n_docs
        take, ptr = tokens_of_part(corpus, np.arange(corpus.n_docs), part.shares)
        assert before <= set(take.tolist())
        before = set(take.tolist())
        for d in range(corpus.n_docs):
            own = take[ptr[d] : ptr[d + 1]] - corpus.doc_ptr[d]
            assert np.diff(own).max() <= 64
            assert np.all(np.diff(own) > 0)


@pytest.mark.parametrize(
    "prior",
    [
        make_prior(np.linspace(0.1, 0.2, 4), np.full(CORPUS.n_words, 0.1), CORPUS.n_docs),
        prior_of(4, boosts={3: np.array([1.0, 0.0, 0.0, 0.0])}),
        prior_of(1),
    ],
    ids=["asymmetric", "seed words", "one topic"],
)
def test_topics_that_differ_beforehand_start_at_once(of_any_size: None, prior: Any) -> None:
    assert parts_of(CORPUS, prior) == []


def test_small_corpora_start_at_once() -> None:
    assert parts_of(CORPUS, prior_of(4)) == []


# -- the start of a chain ---------------------------------------------------------------------------------------------


def start(seed: int = 1, chain: int = 0, n_jobs: int = 1) -> Any:
    sampler, prior = get_sampler("auto"), prior_of(6)
    return grow(
        sampler, parts_of(CORPUS, prior), CORPUS, prior, Key(seed, chain, 0), Schedule(n_shards=2, n_jobs=n_jobs)
    )


def test_a_start_follows_from_seed_and_chain_on_any_number_of_threads(of_any_size: None) -> None:
    state = start()
    np.testing.assert_array_equal(state.z, start(n_jobs=2).z)
    assert not np.array_equal(state.z, start(chain=1).z)
    assert not np.array_equal(state.z, start(seed=2).z)


def test_counts_are_those_of_the_topics(of_any_size: None) -> None:
    state = start().as_dense()
    again = get_sampler("dense").restore(CORPUS, state.z, 6)
    np.testing.assert_array_equal(state.word_topic, again.word_topic)
    np.testing.assert_array_equal(state.topic, again.topic)


def test_a_chain_is_soon_where_others_get_later(of_any_size: None) -> None:
    """Better after five sweeps than a start from random topics is after twenty."""
    plain, prior = get_sampler("auto"), prior_of(8)
    reached = {}
    for name, sampler, sweeps in (("grown", with_growing_start(plain, Schedule()), 5), ("plain", plain, 20)):
        state = sampler.init(CORPUS, prior, Key(0, 0, 0))
        state = sampler.run(CORPUS, state, prior, Key(0, 0, 1), Schedule(), sweeps)[0]
        reached[name] = log_joint(CORPUS, state, prior)
    assert reached["grown"] > reached["plain"]


def test_models_start_so_and_can_do_without(of_any_size: None) -> None:
    def fit(options: Any = None, **more: Any) -> LDA:
        return LDA(4, max_iter=3, n_chains=2, random_state=0, sampler_options=options, **more).fit(CORPUS)

    grown = fit()
    assert grown.fingerprint_ == fit({"start_sweeps": "auto"}, n_jobs=2).fingerprint_
    assert grown.fingerprint_ != fit({"start_sweeps": 0}).fingerprint_
    assert fit(sampler="sparse").fingerprint_ == fit({"start_sweeps": 0}, sampler="sparse").fingerprint_


def test_collections_keep_their_priors(of_any_size: None) -> None:
    """Documents that are chosen take their collection with them."""
    groups = np.arange(CORPUS.n_docs) % 2
    model = CompoundLDA(4, max_iter=3, random_state=0).fit(CORPUS, groups=groups)
    again = CompoundLDA(4, max_iter=3, random_state=0, n_jobs=2).fit(CORPUS, groups=groups)
    assert model.fingerprint_ == again.fingerprint_
