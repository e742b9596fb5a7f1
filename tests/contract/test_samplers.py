"""What every registered kernel must keep, exact or not."""

import numpy as np
import pytest

from tests.oracles import lda as oracle
from topicloom.datasets import synthetic_lda
from topicloom.engine.prior import make_prior
from topicloom.engine.run import Plan, advance, run_chains, start_chain
from topicloom.engine.sampler import Key, Schedule
from topicloom.engine.state import rebuild_counts
from topicloom.errors import InputError
from topicloom.lda.gibbs import get_sampler, sampler_names

KERNELS = sampler_names()


@pytest.fixture(scope="module")
def case() -> oracle.Case:
    corpus = synthetic_lda(60, 80, 5, doc_length=30.0, seed=1).corpus
    rng = np.random.default_rng(2)
    boosts = {3: rng.uniform(0, 3, 20)}
    return oracle.Case(corpus, make_prior(rng.uniform(0.05, 1, 20), rng.uniform(0.01, 0.5, 80), 60, boosts))


@pytest.mark.parametrize("name", KERNELS)
def test_counts_equal_those_rebuilt_from_z(name: str, case: oracle.Case) -> None:
    kernel = get_sampler(name)
    state = kernel.init(case.corpus, case.prior, Key(0, 0, 0))
    for sweep in range(1, 6):
        before = state.z.copy()
        state, info = kernel.sweep(case.corpus, state, case.prior, Key(0, 0, sweep), Schedule())
        rebuilt = rebuild_counts(case.corpus, state.z, 20)
        np.testing.assert_array_equal(state.as_dense().word_topic, rebuilt.word_topic)
        np.testing.assert_array_equal(state.topic, rebuilt.topic)
        assert info.changed == np.count_nonzero(state.z != before) > 0


@pytest.mark.parametrize("name", KERNELS)
def test_the_same_key_gives_the_same_state(name: str, case: oracle.Case) -> None:
    kernel = get_sampler(name)

    def after(seed: int, chain: int) -> np.ndarray:
        state = kernel.init(case.corpus, case.prior, Key(seed, chain, 0))
        return kernel.sweep(case.corpus, state, case.prior, Key(seed, chain, 1), Schedule())[0].z

    np.testing.assert_array_equal(after(5, 0), after(5, 0))
    assert np.any(after(5, 0) != after(6, 0))
    assert np.any(after(5, 0) != after(5, 1))


@pytest.mark.parametrize("name", KERNELS)
def test_one_topic_stays_one_topic(name: str) -> None:
    corpus = oracle.tiny_corpus([[0, 1, 1], []], 2)
    prior = make_prior(np.ones(1), np.ones(2), 2)
    kernel = get_sampler(name)
    state = kernel.init(corpus, prior, Key(0, 0, 0))
    state, info = kernel.sweep(corpus, state, prior, Key(0, 0, 1), Schedule())
    np.testing.assert_array_equal(state.z, 0)
    assert info.changed == 0


@pytest.mark.parametrize("name", KERNELS)
def test_the_joint_probability_rises_from_the_start(name: str, case: oracle.Case) -> None:
    kernel = get_sampler(name)
    state = kernel.init(case.corpus, case.prior, Key(1, 0, 0))
    start = kernel.log_joint(case.corpus, state, case.prior)
    for sweep in range(1, 21):
        state, _ = kernel.sweep(case.corpus, state, case.prior, Key(1, 0, sweep), Schedule())
    assert kernel.log_joint(case.corpus, state, case.prior) > start


@pytest.mark.parametrize("name", KERNELS)
def test_stopping_and_going_on_changes_nothing(name: str, case: oracle.Case) -> None:
    kernel = get_sampler(name)
    plain = make_prior(np.full(20, 0.1), np.full(80, 0.05), 60)
    plan = Plan(3, 40, 25, 5, "cgs_p", learn_alpha=True, learn_beta=True, learn_from=5, learn_every=5)
    straight, broken = (start_chain(kernel, case.corpus, plain, plan.seed, 0) for _ in range(2))
    run_chains(kernel, case.corpus, [straight], plan)
    for _ in range(17):
        advance(kernel, case.corpus, broken, plan)
    broken.state = kernel.restore(case.corpus, broken.state.z, 20)  # as from a checkpoint
    run_chains(kernel, case.corpus, [broken], plan)
    assert straight.sweep == broken.sweep == 40
    np.testing.assert_array_equal(straight.state.z, broken.state.z)
    for ours, theirs in zip(straight.prior, broken.prior, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(straight.kept.word, broken.kept.word)
    assert straight.kept.n_samples == 4
    assert straight.trace == broken.trace


def test_chains_on_threads_equal_chains_in_turn(case: oracle.Case) -> None:
    kernel = get_sampler("dense")
    plan = Plan(3, 12, None, 1, "standard")
    results = []
    for n_jobs in (1, 3):
        chains = [start_chain(kernel, case.corpus, case.prior, 3, index) for index in range(3)]
        run_chains(kernel, case.corpus, chains, plan, n_jobs=n_jobs)
        results.append([chain.state.z for chain in chains])
    np.testing.assert_array_equal(*results)


def test_unknown_samplers_are_named() -> None:
    with pytest.raises(InputError, match=r"sampler='fast' is not known; choose one of .*'dense'"):
        get_sampler("fast")


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("n_shards", [2, 3, 8])
def test_threads_change_nothing(name: str, n_shards: int, case: oracle.Case) -> None:
    """The cut into shards is the model's; how many threads work on them is the machine's."""
    kernel = get_sampler(name)
    results = []
    for n_jobs in (1, 2, 4, 8):
        state = kernel.init(case.corpus, case.prior, Key(4, 0, 0))
        for sweep in range(1, 4):
            state, _ = kernel.sweep(case.corpus, state, case.prior, Key(4, 0, sweep), Schedule(n_shards, n_jobs))
        results.append(state.z.copy())
        rebuilt = rebuild_counts(case.corpus, state.z, 20)
        np.testing.assert_array_equal(state.as_dense().word_topic, rebuilt.word_topic)
        np.testing.assert_array_equal(state.topic, rebuilt.topic)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


@pytest.mark.parametrize("name", KERNELS)
def test_more_shards_than_documents_or_words(name: str) -> None:
    corpus = oracle.tiny_corpus([[0, 1, 0, 1], [1, 1]], 2)
    prior = make_prior(np.ones(3), np.ones(2), 2)
    kernel = get_sampler(name)
    state = kernel.init(corpus, prior, Key(0, 0, 0))
    seen = set()
    for sweep in range(60):
        state, _ = kernel.sweep(corpus, state, prior, Key(0, 0, sweep), Schedule(5, 2))
        seen |= set(enumerate(state.z.tolist()))
    assert len(seen) == 18  # every token has been in every topic
    np.testing.assert_array_equal(state.topic, np.bincount(state.z, minlength=3))
