"""``LDA(n_paths=m)``: one path is the plain sampler; several through estimates, files, threads, the command line."""

from pathlib import Path

import numpy as np
import pytest

from tests.helpers.saved import file_of, put
from topicloom import LDA, CompoundLDA, Corpus, VariationalLDA, load, resume
from topicloom.cli.files import _state_of
from topicloom.corpus.stored import is_mapped, load_corpus, save_corpus
from topicloom.datasets import bands, synthetic_lda
from topicloom.engine.estimates import topic_counts
from topicloom.engine.learn_priors import learn_alpha, learn_beta
from topicloom.engine.multipath import agreement, repeated, repeated_prior
from topicloom.engine.prior import make_prior
from topicloom.engine.run import Plan, run_chains, start_chain
from topicloom.engine.sampler import Key, Schedule
from topicloom.engine.state import rebuild_counts
from topicloom.errors import InputError
from topicloom.files.arrays import read_arrays
from topicloom.lda.gibbs import get_sampler, sampler_names
from topicloom.lda.memory import estimate

SAMPLERS = sampler_names()


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    made = synthetic_lda(40, 50, 4, doc_length=15.0, seed=4).corpus
    return made.with_metadata(ids=[f"d{i}" for i in range(40)], times=np.arange(40))


# -- the repeated corpus -------------------------------------------------------------------------------------------


def test_paths_follow_each_other(corpus: Corpus) -> None:
    thrice = repeated(corpus, 3)
    np.testing.assert_array_equal(thrice.words.reshape(3, -1), np.tile(corpus.words, (3, 1)))
    np.testing.assert_array_equal(thrice.doc_lengths.reshape(3, -1), np.tile(corpus.doc_lengths, (3, 1)))
    assert thrice.ids is None
    assert thrice.times is None
    assert repeated(corpus, 3) is thrice  # made once, as long as anyone has it
    assert repeated(corpus, 1) is corpus


def test_agreement_is_the_share_of_tokens_on_which_all_paths_agree() -> None:
    z = np.array([[0, 1, 2, 3], [0, 1, 1, 3], [0, 2, 2, 3]])
    assert agreement(z.ravel(), 3) == 0.5
    assert agreement(z[0], 1) == 1.0


# -- one path ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_one_path_is_the_plain_sampler(sampler: str, corpus: Corpus) -> None:
    model = LDA(5, doc_topic_prior=0.1, topic_word_prior=0.1, sampler=sampler, n_paths=1, max_iter=6, random_state=3)
    model.fit(corpus)
    kernel, prior = get_sampler(sampler), make_prior(np.full(5, 0.1), np.full(50, 0.1), 40)
    state = kernel.init(corpus, prior, Key(3, 0, 0))
    for sweep in range(1, 7):
        state, _ = kernel.sweep(corpus, state, prior, Key(3, 0, sweep), Schedule())
    np.testing.assert_array_equal(model.chains_[0].state.z, state.z)
    assert model.trace_.agreement == []
    assert model.log_joint_[0] == kernel.log_joint(corpus, state, prior)


# -- several -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_estimates_come_from_shared_counts_and_from_each_paths_documents(sampler: str, corpus: Corpus) -> None:
    model = LDA(5, sampler=sampler, n_paths=3, estimator="standard", max_iter=30, random_state=0).fit(corpus)
    z, n = model.chains_[0].state.z.reshape(3, -1), corpus.n_tokens
    counts = [rebuild_counts(corpus, path, 5).word_topic for path in z]
    shared = np.sum(counts, axis=0) + model.beta_[:, None]
    np.testing.assert_allclose(model.components_, shared.T)
    np.testing.assert_allclose(model.topic_word_, (shared / shared.sum(axis=0)).T)
    docs = np.array(
        [
            [np.bincount(path[a:b], minlength=5) for a, b in zip(corpus.doc_ptr, corpus.doc_ptr[1:], strict=False)]
            for path in z
        ]
    )
    mean, first = docs.mean(axis=0) + model.alpha_, docs[0] + model.alpha_
    np.testing.assert_allclose(model.doc_topic_, mean / mean.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(model.estimate("standard")[0], model.doc_topic_)
    np.testing.assert_allclose(model.estimate("standard", paths="first")[0], first / first.sum(axis=1, keepdims=True))
    agreed = np.mean((z == z[0]).all(axis=0))
    assert model.trace_.agreement[-1] == pytest.approx(agreed)
    assert model.log_joint_[0] == pytest.approx(model.trace_.log_joint[-1])
    assert len(model.chains_[0].state.z) == 3 * n
    assert model.transform(corpus).shape == (40, 5)


def test_dense_estimates_over_paths(corpus: Corpus) -> None:
    model = LDA(4, n_paths=2, max_iter=20, random_state=0).fit(corpus)
    chain = model.chains_[0]
    soft = topic_counts(repeated(corpus, 2), chain.state, chain.prior, "cgs_p")
    np.testing.assert_allclose(model.components_, (soft.word + model.beta_[:, None]).T)
    theta = soft.doc.reshape(2, 40, 4).mean(axis=0) + model.alpha_
    np.testing.assert_allclose(model.doc_topic_, theta / theta.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(soft.word.sum(), 2 * corpus.n_tokens)


def test_averages_over_samples(corpus: Corpus) -> None:
    model = LDA(4, n_paths=2, max_iter=20, burn_in=10, thin=5, random_state=0).fit(corpus)
    kept = model.chains_[0].kept
    assert kept.n_samples == 3
    assert kept.doc.shape == (80, 4)
    theta = kept.doc.reshape(2, 40, 4).mean(axis=0) / 3 + model.alpha_
    np.testing.assert_allclose(model.doc_topic_, theta / theta.sum(axis=1, keepdims=True))


def test_priors_are_learned_from_all_paths(corpus: Corpus) -> None:
    """α from every path's documents, β from the shared counts: the maxima of the joint that is sampled from."""
    kernel, twice = get_sampler("dense"), repeated(corpus, 2)
    prior = repeated_prior(make_prior(np.full(4, 0.2), np.full(50, 0.1), 40), 2)
    chain = start_chain(kernel, twice, prior, 0, 0)
    run_chains(kernel, twice, [chain], Plan(0, 30, None, 1, "standard", n_paths=2))
    learned = learn_beta(chain.state, learn_alpha(twice, chain.state, prior))

    def log_joint(alpha: np.ndarray, beta: float) -> float:
        other = repeated_prior(make_prior(alpha, np.full(50, beta), 40), 2)
        return kernel.log_joint(twice, chain.state, other) - alpha.sum() - beta  # the hyperprior's rate is 1

    alpha, beta = learned.alpha[0], float(learned.beta[0])
    best = log_joint(alpha, beta)
    assert best > log_joint(np.full(4, 0.2), 0.1)
    for factor in (0.97, 1.03):
        assert log_joint(alpha, beta * factor) < best
        assert log_joint(alpha * factor, beta) < best


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_run_with_paths_goes_on_exactly(sampler: str, corpus: Corpus, tmp_path: Path) -> None:
    options = {"sampler": sampler, "n_paths": 3, "burn_in": 22, "thin": 2, "n_chains": 2, "random_state": 1}
    straight = LDA(4, max_iter=32, **options).fit(corpus)
    LDA(4, max_iter=25, checkpoint_dir=tmp_path / "run", **options).fit(corpus)
    further = resume(tmp_path / "run", max_iter=32)
    assert further.fingerprint_ == straight.fingerprint_
    assert further.traces_ == straight.traces_
    assert further.n_paths == 3
    loaded = load(tmp_path / "run")
    np.testing.assert_array_equal(loaded.doc_topic_, straight.doc_topic_)
    np.testing.assert_array_equal(loaded.chains_[1].state.z, straight.chains_[1].state.z)
    assert loaded.trace_ == straight.trace_


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_threads_change_nothing(sampler: str, corpus: Corpus) -> None:
    one, two = (
        LDA(4, sampler=sampler, n_paths=2, n_shards=3, n_jobs=jobs, max_iter=8, random_state=1).fit(corpus)
        for jobs in (1, 2)
    )
    assert one.fingerprint_ == two.fingerprint_


def test_shards_change_nothing_in_the_partial_sampler(corpus: Corpus) -> None:
    one, three = (
        LDA(4, sampler="partial", n_paths=2, n_shards=n, max_iter=8, random_state=1).fit(corpus) for n in (1, 3)
    )
    assert one.fingerprint_ == three.fingerprint_


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_mapped_corpus_gives_the_same(sampler: str, corpus: Corpus, tmp_path: Path) -> None:
    save_corpus(corpus, tmp_path / "c.safetensors")
    mapped = load_corpus(tmp_path / "c.safetensors", mapped=True)
    here, there = (
        LDA(4, sampler=sampler, n_paths=2, max_iter=6, random_state=1).fit(each) for each in (corpus, mapped)
    )
    assert here.fingerprint_ == there.fingerprint_
    assert is_mapped(repeated(mapped, 2))  # its tokens are in a file too, and so are their topics
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.safetensors"]


def test_seed_words_and_counts_as_rebuilt(corpus: Corpus) -> None:
    word = corpus.vocabulary[int(np.argmax(corpus.word_counts))]
    model = LDA(4, n_paths=3, seed_words={2: [word]}, seed_weight=5.0, max_iter=20, random_state=0).fit(corpus)
    assert word in model.top_words(3)[2]
    state = model.chains_[0].state
    np.testing.assert_array_equal(
        state.as_dense().word_topic, rebuild_counts(repeated(corpus, 3), state.z, 4).word_topic
    )


def test_more_paths_find_topics_that_one_does_not() -> None:
    data = bands(600, seed=2)
    from topicloom.evaluation import topic_discrepancy

    def disc(n_paths: int) -> float:
        options = {"doc_topic_prior": 1.0, "topic_word_prior": 1.0, "max_iter": 200, "estimator": "standard"}
        model = LDA(10, n_paths=n_paths, random_state=0, **options).fit(data.corpus)
        return topic_discrepancy(model.topic_word_, data.phi)

    assert disc(5) < 0.9 * disc(1)


# -- around it -----------------------------------------------------------------------------------------------------


def test_a_state_file_has_the_first_path(corpus: Corpus, tmp_path: Path) -> None:
    model = LDA(4, n_paths=2, max_iter=10, random_state=0).fit(corpus)
    model.save(tmp_path / "m")
    found = _state_of("model", tmp_path / "m")
    np.testing.assert_array_equal(found.state.z, model.chains_[0].state.z[: corpus.n_tokens])
    assert len(found.prior.alpha_row) == corpus.n_docs


def test_models_without_a_record_of_agreement_are_read(corpus: Corpus, tmp_path: Path) -> None:
    """As models were before there were paths."""
    model = LDA(4, max_iter=20, random_state=0, checkpoint_dir=tmp_path / "run").fit(corpus)
    arrays, info, _ = read_arrays(file_of(tmp_path / "run", "chain-0"))
    del arrays["trace_agreement"]
    put(tmp_path / "run", "chain-0", (arrays, info))
    assert resume(tmp_path / "run", max_iter=21).trace_ == model.trace_


@pytest.mark.parametrize("sampler", ["dense", "sparse", "partial"])
def test_memory_is_told_beforehand(sampler: str, corpus: Corpus) -> None:
    plan = estimate(corpus, 6, sampler, n_paths=3, averaged=True)
    prior = repeated_prior(make_prior(np.ones(6), np.ones(50), 40), 3)
    state = get_sampler(sampler).init(repeated(corpus, 3), prior, Key(0, 0, 0))
    assert plan.assignments == state.z.nbytes
    assert plan.counts == sum(array.nbytes for array in state[1:])
    assert plan.tokens == corpus.words.nbytes + repeated(corpus, 3).words.nbytes
    assert plan.averages == 3 * 8 * 6 * (3 * 40 + 50)


def test_senseless_paths_are_refused(corpus: Corpus) -> None:
    with pytest.raises(InputError, match="n_paths=0 must be a whole number of at least 1"):
        LDA(3, n_paths=0).fit(corpus)
    with pytest.raises(InputError, match="paths='last' is not known; choose one of 'mean', 'first'"):
        LDA(3, n_paths=2, max_iter=2).fit(corpus).estimate("standard", paths="last")
    with pytest.raises(TypeError, match="n_paths is not a parameter of VariationalLDA: it is for sampling"):
        VariationalLDA(3, n_paths=2, method="cvb0")
    with pytest.raises(InputError, match='n_paths is for sampling; use method="ags" or "mgs"'):
        CompoundLDA(3, n_paths=2, method="vem").fit(corpus, groups=[0] * corpus.n_docs)
