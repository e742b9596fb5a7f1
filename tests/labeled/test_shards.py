"""Labeled models on several shards: the posterior by enumeration, LDA's bits where all labels are allowed, any threads,
blocks by themselves."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicloom
from tests.helpers.mutating import REJECT, mutate
from tests.labeled.test_model import quick
from tests.labeled.test_sampler import all_labels, label_sets, larger
from tests.oracles import lda as oracle
from topicloom import LabeledLDA
from topicloom.datasets import synthetic_labeled
from topicloom.engine import exact_shards, shards
from topicloom.engine.prior import make_prior
from topicloom.engine.sampler import Key, Schedule
from topicloom.engine.state import rebuild_counts
from topicloom.errors import InputError
from topicloom.labeled import sampler as labeled
from topicloom.labeled.gibbs import LABELED
from topicloom.lda.gibbs import dense, get_sampler
from topicloom.numerics.rng import stream

DOCS = oracle.tiny_corpus([[0, 3, 1], [2, 0, 3], [1, 2, 3], [0, 1]], 4)
SETS = [[0, 2], [1, 2], [0, 1, 2], [1]]
CASE = oracle.Case(DOCS, make_prior(np.array([0.3, 0.9, 0.5]), np.array([0.2, 0.1, 0.5, 0.3]), 4))


def p_value(n_shards: int, n: int, exact: bool = True) -> float:
    """p-value that the posterior over the states that the labels allow is invariant under two sweeps."""
    kernel = labeled.gibbs(label_sets(SETS, 3))

    def sweep(z: np.ndarray, replicate: int) -> np.ndarray:
        state = kernel.restore(DOCS, z, 3)
        for t in range(2):
            state, _ = kernel.sweep(DOCS, state, CASE.prior, Key(61, replicate, t), Schedule(n_shards, exact=exact))
        return state.z

    return oracle.labeled_invariance(CASE, SETS, sweep, n, seed=62)


@pytest.mark.parametrize("n_shards", [2, 3])
def test_posterior_is_invariant(n_shards: int) -> None:
    assert len(shards.start_shards(DOCS, 3, n_shards, shards.Loads()).words) == n_shards
    p = p_value(n_shards, 3000)
    assert p > oracle.FALSE_ALARM, f"p = {p:.3g}"


def test_totals_that_lag_behind_are_rejected() -> None:
    assert p_value(2, 8000, exact=False) < REJECT


FORGOTTEN = [
    ("doc[j] + alpha[k]) * share[k]", "doc[j] + alpha[k])"),
    ("doc[at] - 1 + a[old]) * share[old]", "doc[at] - 1 + a[old])"),
    ("doc[to] + a[new]) * share[new]", "doc[to] + a[new])"),
]


@pytest.mark.parametrize("change", [(), *FORGOTTEN])
def test_sweeps_with_wrong_shares_are_rejected(change: tuple[str, ...]) -> None:
    """A share left out; the unchanged source goes through the same door."""
    docs = oracle.tiny_corpus([[0, 1, 0, 1, 0], [2, 3]], 4)
    case, sets = oracle.Case(docs, make_prior(np.array([2.0, 1.0, 1.0]), np.full(4, 0.5), 2)), [[0, 2], [0, 2]]
    make_draw = mutate("labeled.gibbs", *([change] if change else [])).make_draw  # type: ignore[list-item]
    progress = shards.start_shards(docs, 3, 2, shards.Loads())
    kernel = labeled.gibbs(label_sets(sets, 3))

    def sweep(z: np.ndarray, replicate: int) -> np.ndarray:
        state, key = kernel.restore(docs, z, 3), Key(63, replicate, 1)
        exact_shards.sweep_exactly(progress, make_draw, docs, state, case.prior, key, Schedule(2))
        return state.z

    with np.errstate(all="ignore"):
        p = oracle.labeled_invariance(case, sets, sweep, 10_000 if change else 2000, seed=64)
    assert p < REJECT if change else p > oracle.FALSE_ALARM, f"p = {p:.3g}"


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every corpus is large enough for shards that do not meet after each sweep."""
    monkeypatch.setattr(shards, "LEAST", 0)
    monkeypatch.setattr(shards, "PER_TOPIC", 0)


@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize("n_shards", [2, 3])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_shards_with_all_labels_allowed_are_those_of_lda_bit_for_bit(n_shards: int, n_jobs: int) -> None:
    corpus, prior = larger(7)
    cut = shards.start_shards(corpus, 7, n_shards, shards.Loads(), in_pieces=True)
    assert cut.docs.shape == (n_shards, 8, 2)
    found = []
    for kernel, make_draw, jobs in (
        (labeled.gibbs(all_labels(40, 7)), LABELED.make_draw, n_jobs),
        (get_sampler("dense"), dense.make_draw, 1),
    ):
        state, progress = kernel.init(corpus, prior, Key(5, 1, 0)), cut
        for sweep in (1, 2):  # of shards that stay as they are cut
            progress, info = shards.sweep_shards(
                progress, make_draw, corpus, state, prior, Key(5, 1, sweep), Schedule(n_shards, jobs)
            )
        found.append((state.z, state.word_topic, state.topic, progress.unseen, info.changed))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize("n_shards", [2, 3])
def test_shards_draw_labels_of_the_document_and_keep_counts(n_shards: int) -> None:
    corpus, prior = larger(6)
    rng = np.random.default_rng(11)
    lists = [sorted(rng.choice(6, rng.integers(1, 5), replace=False).tolist()) for _ in range(corpus.n_docs)]
    kernel = labeled.gibbs(label_sets(lists, 6))
    start = kernel.init(corpus, prior, Key(3, 0, 0))
    drawn = []
    for n_jobs, calls in ((1, [3]), (3, [1, 2])):  # threads and calls change nothing
        state, progress, sweep = kernel.restore(corpus, start.z.copy(), 6), None, 1
        for n in calls:
            state, _, progress = kernel.run(
                corpus, state, prior, Key(3, 0, sweep), Schedule(n_shards, n_jobs), n, progress
            )
            sweep += n
        drawn.append(state.z)
        expected = rebuild_counts(corpus, state.z, 6)
        np.testing.assert_array_equal(state.word_topic, expected.word_topic)
        np.testing.assert_array_equal(state.topic, expected.topic)
        assert all(k in lists[d] for k, d in zip(state.z, corpus.token_docs, strict=True))
    np.testing.assert_array_equal(*drawn)
    assert (drawn[0] != start.z).any()


def test_a_block_needs_its_documents_and_the_rows_of_its_words_alone() -> None:
    """What a process draws that has some of the documents, with their labels, and the counts of some of the words."""
    corpus, prior = larger(6)
    rng = np.random.default_rng(12)
    lists = [sorted(rng.choice(6, rng.integers(1, 5), replace=False).tolist()) for _ in range(corpus.n_docs)]
    kernel = labeled.gibbs(label_sets(lists, 6))
    docs, words = (10, 25), (7, 19)
    whole = kernel.init(corpus, prior, Key(3, 0, 0))
    z = whole.z.copy()
    LABELED.make_draw(corpus, words, prior)(docs, whole, stream(1))
    at = slice(corpus.doc_ptr[docs[0]], corpus.doc_ptr[docs[1]])
    inside = (corpus.words[at] >= words[0]) & (corpus.words[at] < words[1])
    assert (whole.z[at] != z[at])[inside].any()
    np.testing.assert_array_equal(whole.z[at][~inside], z[at][~inside])

    own = corpus.select(np.arange(*docs))
    part = labeled.gibbs(label_sets(lists[slice(*docs)], 6)).restore(own, z[at].copy(), 6)
    counts = rebuild_counts(corpus, z, 6)
    part.word_topic[:] = -1_000_000  # of words of others nothing is known
    part.word_topic[slice(*words)] = counts.word_topic[slice(*words)]
    part.topic[:] = counts.topic
    LABELED.make_draw(own, words, prior)((0, own.n_docs), part, stream(1))
    np.testing.assert_array_equal(part.z, whole.z[at])
    np.testing.assert_array_equal(part.word_topic[slice(*words)], whole.word_topic[slice(*words)])
    np.testing.assert_array_equal(part.topic, whole.topic)
    outside = np.ones(corpus.n_words, bool)
    outside[slice(*words)] = False
    assert (part.word_topic[outside] == -1_000_000).all()


@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize("n_shards", [2, 3])
def test_a_model_on_shards_is_the_same_on_threads_and_after_a_stop(n_shards: int, tmp_path: Path) -> None:
    """The sweep at which it stops is one within a course of sweeps, whose cut is in the checkpoint."""
    corpus = synthetic_labeled(60, 40, 5, doc_length=30, seed=2).corpus
    given: dict[str, Any] = {"n_shards": n_shards, "holdout": 0.0, "trace_every": 3, "max_iter": 26}
    straight = quick(LabeledLDA, **given).fit(corpus)
    assert straight.fingerprint_ != quick(LabeledLDA, **given | {"n_shards": 1}).fit(corpus).fingerprint_

    def stop(chain: Any) -> bool:
        return bool(chain.sweep == 13)

    folder = tmp_path / "run"
    stopped = quick(LabeledLDA, **given, checkpoint_dir=folder, n_jobs=n_shards).fit(corpus, callbacks=[stop])
    assert stopped.n_iter_ == 13
    assert not stopped.chains_[0].shard_progress.unseen.any()  # parts draw shares of each label in place of totals
    resumed = topicloom.resume(folder, max_iter=26, n_jobs=2)
    assert resumed.fingerprint_ == straight.fingerprint_
    assert resumed.traces_ == straight.traces_
    np.testing.assert_array_equal(resumed.predict_proba(corpus), straight.predict_proba(corpus))


def test_shards_learn_what_one_learns_and_are_for_gibbs_alone() -> None:
    found = synthetic_labeled(300, 60, 4, doc_length=60, beta=0.1, seed=5)
    one, three = (quick(LabeledLDA, n_shards=n, holdout=0.0, max_iter=40).fit(found.corpus) for n in (1, 3))
    errors = [np.abs(model.topic_word_ - found.phi).sum(axis=1).mean() for model in (one, three)]
    assert errors[1] < 1.1 * errors[0]
    with pytest.raises(InputError, match='n_shards above 1 is for sampling; use method="gibbs"'):
        quick(LabeledLDA, n_shards=2, method="cvb0").fit(found.corpus)
