"""Streams whose vocabulary grows, and what is recorded of each minibatch."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import digamma

import topicloom
from tests.lda.variational_fits import STREAM, small_corpus
from topicloom import VariationalLDA, from_matrix
from topicloom.corpus import Corpus
from topicloom.corpus.text import from_texts
from topicloom.engine.prior import make_prior
from topicloom.errors import InputError, UnknownWordsWarning
from topicloom.lda.variational import stochastic, stream
from topicloom.lda.variational.state import Work

PARTS = [np.arange(first, first + 10) for first in range(0, 60, 10)]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """The first documents lack the last words of the vocabulary."""
    whole = small_corpus()
    late = whole.words >= 15 + whole.token_docs // 2
    return whole.keep_tokens(~late)


def words_of(corpus: Corpus, docs: Any) -> Corpus:
    """Some documents with a vocabulary of their own, in an order of its own."""
    part = corpus.select(docs)
    return part.with_vocabulary(sorted({part.vocabulary[v] for v in part.words}, reverse=True))


def made(mode: str, **params: Any) -> VariationalLDA:
    own: dict[str, Any] = {"batch_size": 5, "total_samples": 60, "random_state": 0, "new_words": "add"}
    return VariationalLDA(3, method=mode, **{**own, **params})


def fed(model: VariationalLDA, corpus: Corpus, parts: Any = PARTS, **how: Any) -> VariationalLDA:
    for docs in parts:
        model.partial_fit(words_of(corpus, docs), **how)
    return model


def arrivals(corpus: Corpus, parts: Any = PARTS) -> tuple[str, ...]:
    """The vocabulary of the first part, and what the others bring, by looking at each token in turn."""
    found = dict.fromkeys(words_of(corpus, parts[0]).vocabulary)
    for docs in parts[1:]:
        own = words_of(corpus, docs)
        found |= dict.fromkeys(own.vocabulary[v] for v in own.words)
    return tuple(found)


@pytest.mark.parametrize("mode", STREAM)
def test_new_words_join_in_the_order_of_their_arrival(mode: str, corpus: Corpus, tmp_path: Path) -> None:
    model = fed(made(mode), corpus)
    assert model.vocabulary_ == arrivals(corpus)
    assert model.components_.shape == (3, len(model.vocabulary_)) == (3, model.n_features_in_)
    assert len(words_of(corpus, PARTS[0]).vocabulary) < len(model.vocabulary_)
    assert model.trace_.words[-1] == len(model.vocabulary_)
    assert np.all(np.diff(model.trace_.words) >= 0)
    np.testing.assert_allclose(model.topic_word_.sum(axis=1), 1)
    # On any number of threads; saved and loaded in the middle; in calls of other sizes: the same bits.
    others = [fed(made(mode, n_jobs=3), corpus)]
    begun = fed(made(mode), corpus, PARTS[:3])
    begun.save(tmp_path / "begun")
    others.append(fed(topicloom.load(tmp_path / "begun"), corpus, PARTS[3:]))
    if mode == "scvb0":
        fixed = {"topic_word_prior": 0.1}  # which is learned at the end of each call
        model = fed(made(mode, **fixed), corpus)
        others = [fed(made(mode, **fixed), corpus, [PARTS[0], np.concatenate(PARTS[1:])])]
    for other in others:
        assert other.vocabulary_ == model.vocabulary_
        assert other.fingerprint_ == model.fingerprint_
        assert other.trace_ == model.trace_


@pytest.mark.parametrize("mode", STREAM)
def test_what_differs_from_a_vocabulary_known_beforehand(mode: str, corpus: Corpus) -> None:
    """The sum of β over words, and the start of words that are yet to come. With these alike, not a bit."""
    model = fed(made(mode, topic_word_prior=0.1), corpus)
    known = corpus.with_vocabulary(model.vocabulary_)
    first = fed(made(mode, topic_word_prior=0.1), corpus, PARTS[:1])
    n_words, beta = len(model.vocabulary_), 0.1
    begun = first.chains_[0]
    rows = np.zeros((n_words, 3))
    rows[: len(first.vocabulary_)] = begun.state.counts
    state = begun.state._replace(counts=rows, scale=begun.state.scale.copy(), topic=begun.state.topic.copy(),
                                 batches=begun.state.batches.copy())  # fmt: skip
    prior = make_prior(begun.prior.alpha[0], np.full(n_words, beta), 60)
    whole = made(mode, topic_word_prior=0.1)
    settings = whole._settings(60.0)
    n_known = len(first.vocabulary_)
    for docs in [part[i : i + 5] for part in PARTS[1:] for i in (0, 5)]:
        batch = stochastic.take_batch(known, docs)
        n_known = max(n_known, int(batch.words.max()) + 1)
        prior = prior._replace(beta_sum=np.full(3, np.full(n_known, beta).sum()))
        prior, _ = stochastic.learn_batch(batch, state, mode, prior, settings.steps, Work())
    np.testing.assert_array_equal(stochastic.pseudo_counts(state, prior).T, model.components_)
    np.testing.assert_array_equal(prior.alpha[0], model.alpha_)
    # Known from the start, every word has a share of the start and of β: the topics are about the same.
    other = made(mode, topic_word_prior=0.1)
    for docs in PARTS:
        other.partial_fit(known.select(docs))
    assert other.vocabulary_ == model.vocabulary_
    assert other.fingerprint_ != model.fingerprint_
    gap = np.abs(np.asarray(other.topic_word_) - model.topic_word_).sum(axis=1) / 2
    assert gap.max() < 0.1


@pytest.mark.parametrize("mode", STREAM)
def test_without_new_words_nothing_changes(mode: str, corpus: Corpus) -> None:
    models = [made(mode, new_words=how) for how in ("ignore", "add")]
    for model in models:
        for docs in PARTS:
            model.partial_fit(corpus.select(docs))
    assert models[0].fingerprint_ == models[1].fingerprint_
    assert models[0].vocabulary_ == models[1].vocabulary_ == corpus.vocabulary
    with pytest.warns(UnknownWordsWarning):
        models[0].partial_fit(Corpus(np.array([0, 1]), np.array([0, 2]), (corpus.vocabulary[0], "new")))
    assert models[0].vocabulary_ == corpus.vocabulary


def test_texts_are_cut_as_the_first_were() -> None:
    model = made("scvb0").partial_fit(from_texts(["The river, the bank", "bank money"], stop_words=["the"]))
    model.set_topic_names({1: "money"})
    model.partial_fit(["the Boat and the river", "loans"])
    assert model.vocabulary_ == ("bank", "money", "river", "boat", "and", "loans")
    assert model.partial_fit(["", "42"]).vocabulary_[-1] == "loans"  # nothing in them
    assert model.topic_names_ == (None, "money", None)
    assert np.isfinite(model.transform(["a boat"])).all()


@pytest.mark.parametrize("kind", [list, iter, np.array, lambda texts: [text.split() for text in texts]])
def test_every_kind_of_texts_may_bring_words(kind: Any) -> None:
    model = made("scvb0").partial_fit(kind(["river bank", "money bank"])).partial_fit(kind(["boat river", "sea boat"]))
    assert model.vocabulary_ == ("bank", "money", "river", "boat", "sea")


def test_a_frame_is_read_by_the_columns_of_the_first_call() -> None:
    pandas = pytest.importorskip("pandas", reason="a frame of pandas")
    frames = [pandas.DataFrame({"text": texts}) for texts in (["river bank", "money bank"], ["boat river", "sea"])]
    model = made("scvb0").partial_fit(frames[0], text="text").partial_fit(frames[1])
    assert model.vocabulary_ == ("bank", "money", "river", "boat", "sea")


def test_seed_words_of_the_first_call_stay(corpus: Corpus, tmp_path: Path) -> None:
    model = fed(made("scvb0", seed_words={2: ["word0"]}, seed_weight=50.0), corpus)
    assert np.argmax(model.topic_word_[:, model.vocabulary_.index("word0")]) == 2
    model.save(tmp_path / "seeded")
    loaded = topicloom.load(tmp_path / "seeded").partial_fit(corpus)
    assert np.isfinite(loaded.components_).all()
    prior = loaded.chains_[0].prior
    np.testing.assert_allclose(prior.beta_sum, prior.beta.sum() + prior.boost.sum(axis=0))


def test_what_cannot_grow_is_refused(corpus: Corpus) -> None:
    model = made("svb").partial_fit(from_matrix(np.ones((2, 3))))
    before = model.fingerprint_
    with pytest.raises(InputError, match="a Corpus, whose words are matched by name"):
        model.partial_fit(np.ones((2, 4)))
    with pytest.raises(InputError, match="score_first='x' must be"):
        model.partial_fit(np.ones((2, 3)), score_first="x")
    with pytest.raises(InputError, match="new_words='all' is not known"):
        made("svb", new_words="all").partial_fit(corpus)
    with pytest.raises(InputError, match="none for words that are yet to come; give one number"):
        made("svb", topic_word_prior=[0.1] * 40).partial_fit(corpus)
    assert model.fingerprint_ == before
    with pytest.raises(InputError, match="no minibatch is recorded"):
        made("svb", max_iter=1, tol=0).fit(corpus).stream_frame()


@pytest.mark.parametrize("mode", STREAM)
def test_each_minibatch_is_scored_before_it_is_learned(mode: str, corpus: Corpus) -> None:
    """As the model would score it that far, of words that it knows; no topic depends on it."""
    corpus = replace(corpus, ordered=True)  # so that the halves of a document do not depend on others
    fixed = {"topic_word_prior": 0.1}  # which is learned at the end of each call
    model = fed(made(mode, **fixed), corpus, score_first=True)
    step = fed(made(mode, **fixed), corpus, PARTS[:1])
    assert np.isnan(step.trace_.score).all()
    expected = []
    for docs in [part[i : i + 5] for part in PARTS[1:] for i in (0, 5)]:
        expected.append(step.score(corpus.select(docs).with_vocabulary(step.vocabulary_)))
        step.partial_fit(words_of(corpus, docs))
    np.testing.assert_allclose(model.trace_.score[2:], expected, rtol=1e-9)
    assert np.all(np.array(model.trace_.score) < 0)
    assert model.fingerprint_ == step.fingerprint_


def test_a_frame_has_a_row_for_each_minibatch(corpus: Corpus, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="a frame of pandas")
    model = fed(
        made("svb", max_iter=1, trace_every=1, tol=0).fit(words_of(corpus, PARTS[0])),
        corpus,
        PARTS[:2],
        score_first=True,
    )
    table = model.stream_frame(frame="pandas")
    assert isinstance(table, pandas.DataFrame)
    assert table.columns.tolist() == ["batch", "tokens", "words", "bound", "score", "alpha_sum"]
    assert table["tokens"].sum() == corpus.select(np.concatenate(PARTS[:2])).n_tokens
    assert table["batch"].tolist() == [2, 3, 4, 5]  # after a pass of fit
    np.testing.assert_allclose(table["bound"] * table["tokens"], model.trace_.log_joint[-4:], rtol=1e-12)
    assert table["bound"].iloc[-1] * table["tokens"].iloc[-1] == pytest.approx(model.log_joint_[0])
    model.save(tmp_path / "stream")
    loaded = topicloom.load(tmp_path / "stream")
    assert loaded.trace_ == model.trace_
    pandas.testing.assert_frame_equal(loaded.stream_frame(frame="pandas"), table)


def test_words_that_are_next_to_impossible_keep_their_ratios() -> None:
    """exp Ψ(β) of a small β is less than any number; what a topic's share follows from are ratios."""
    prior = make_prior(np.full(3, 0.1), np.full(4, 1e-4), 1)
    counts = np.zeros((4, 3))
    counts[0] = [5.0, 2.0, 9.0]
    state = stochastic.StochasticState(counts, np.ones(1), counts.sum(axis=0), np.zeros(1, np.int64))
    rows = stochastic.word_rows(np.arange(4), state, prior)
    topics, shift = stochastic.expected_topics(rows, state, "svb", prior)
    assert shift is not None
    logs = digamma(rows) - digamma(rows.sum(axis=0))
    np.testing.assert_allclose(np.log(topics) + shift[:, None], logs, rtol=1e-9)
    model = made("svb", topic_word_prior=1e-5).partial_fit(["river bank river", "money bank"])
    model.partial_fit(["boat harbour", "loan money"], score_first=True)
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.log_joint_).all()
    assert stream.progress(model.trace_)["words"].tolist() == [3, 6]
