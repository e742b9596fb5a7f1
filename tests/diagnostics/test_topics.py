"""Diagnostics of topics: MALLET's own values of one state, plain loops, odd topics, every source, tables and files."""

import csv
import doctest
import gzip
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

import topicloom
from tests.diagnostics.naive_topics import naive_diagnostics
from topicloom import evaluation, mallet
from topicloom.corpus.corpus import Corpus
from topicloom.diagnostics import topic_statistics, topics
from topicloom.diagnostics.topics import MEASURES, Assignments, TopicDiagnostics, topic_diagnostics
from topicloom.engine.prior import make_prior
from topicloom.engine.state import rebuild_counts, rebuild_lists
from topicloom.errors import InputError
from topicloom.mallet import MalletState

FIXTURES = Path(__file__).parents[1] / "fixtures" / "mallet"


@pytest.fixture(scope="module")
def mallets() -> MalletState:
    """The state that MALLET wrote, with its priors."""
    with np.load(FIXTURES / "state.npz") as file:
        vocabulary = file["vocabulary"].tobytes().decode().split("\n")
        doc_ptr = np.concatenate(([0], np.cumsum(file["lengths"], dtype=np.int64)))
        corpus = Corpus(file["words"].astype(np.int32), doc_ptr, tuple(vocabulary), ordered=True)
        z = file["topics"]
    prior = make_prior(np.full(10, 0.1), np.full(corpus.n_words, 0.01), corpus.n_docs)
    return MalletState(corpus, rebuild_counts(corpus, z, 10), prior)


@pytest.fixture(scope="module")
def mallets_xml() -> bytes:
    return gzip.decompress((FIXTURES / "diagnostics.xml.gz").read_bytes())


@pytest.fixture(scope="module")
def of_mallet(mallets: MalletState) -> TopicDiagnostics:
    return topic_diagnostics(mallets)


def random_state(seed: int, n_topics: int = 4, n_docs: int = 12, n_words: int = 15) -> MalletState:
    """Documents of 0 to 9 tokens, of which every topic has some but the last; words with characters beyond U+FFFF."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 10, n_docs)
    lengths[3], lengths[4] = 0, 9
    words = rng.integers(0, n_words, lengths.sum())
    z = rng.integers(0, max(n_topics - 1, 1), len(words))
    vocabulary = tuple(f"{'𝛼b' * (v % 3)}{v}" for v in range(n_words))
    corpus = Corpus(words, np.concatenate(([0], np.cumsum(lengths))), vocabulary)
    boosts = {2: rng.random(n_topics), 7: rng.random(n_topics)}
    prior = make_prior(
        rng.random((2, n_topics)) + 0.05, rng.random(n_words) + 0.01, n_docs, boosts, rng.integers(0, 2, n_docs)
    )
    return MalletState(corpus, rebuild_counts(corpus, z, n_topics), prior)


def assert_equals_naive(found: TopicDiagnostics, of: MalletState, allowed: list[list[int]] | None = None) -> None:
    measures, words = naive_diagnostics(of.corpus, of.state.z, of.prior, found.n_top_words, allowed)
    assert list(measures) == list(MEASURES)
    for name, values in measures.items():
        np.testing.assert_allclose(getattr(found, name), values, rtol=1e-12, atol=1e-14, err_msg=name)
    for k, listed in enumerate(words):
        assert found.top_words[k] == tuple(of.corpus.vocabulary[word["word"]] for word in listed)
        for name, array in found.words._asdict().items():
            expected = [word[name] for word in listed]
            np.testing.assert_allclose(array[k, : len(listed)], expected, rtol=1e-12, atol=1e-14, err_msg=name)
            assert set(array[k, len(listed) :].tolist()) <= {-1 if name == "word" else 0}


def assert_all_defined(found: TopicDiagnostics) -> None:
    for array in (*(getattr(found, name) for name in MEASURES), *found.words):
        assert np.all(np.isfinite(array))


# -- values ------------------------------------------------------------------------------------------------------


def test_every_value_is_mallets_to_the_last_digit_it_prints(
    of_mallet: TopicDiagnostics, mallets_xml: bytes, tmp_path: Path
) -> None:
    of_mallet.to_mallet_xml(tmp_path / "ours.xml")
    ours, theirs = ElementTree.parse(tmp_path / "ours.xml").getroot(), ElementTree.fromstring(mallets_xml)
    compared = 0
    for topic, expected in zip(ours, theirs, strict=True):
        assert topic.attrib == expected.attrib
        assert [word.text for word in topic] == [word.text for word in expected]
        assert [word.attrib for word in topic] == [word.attrib for word in expected]
        compared += len(expected.attrib) + sum(len(word.attrib) for word in expected)
    assert compared == 10 * (1 + 12) + 10 * 20 * 11
    assert (tmp_path / "ours.xml").read_bytes() == mallets_xml


def test_a_state_file_gives_the_same(mallets: MalletState, of_mallet: TopicDiagnostics, tmp_path: Path) -> None:
    mallet.write_state(tmp_path / "state.gz", *mallets)
    found = topic_diagnostics(mallet.read_state(tmp_path / "state.gz"))
    for name in MEASURES:
        np.testing.assert_array_equal(getattr(found, name), getattr(of_mallet, name))
    assert found.top_words == of_mallet.top_words


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_top", [1, 3, 40])
def test_values_are_those_of_plain_loops(seed: int, n_top: int) -> None:
    given = random_state(seed)
    found = topic_diagnostics(given, n_top)
    assert_equals_naive(found, given)
    assert_all_defined(found)


def test_one_topic_and_many_topics() -> None:
    for n_topics in (1, 30):
        given = random_state(1, n_topics)
        assert_equals_naive(topic_diagnostics(given, 5), given)


def test_exclusivity_is_that_of_evaluation_over_the_smoothed_topics(
    mallets: MalletState, of_mallet: TopicDiagnostics
) -> None:
    phi = (mallets.state.word_topic + 0.01) / (mallets.state.topic + 0.01 * mallets.corpus.n_words)
    best = of_mallet.words.word[:, :1]
    sure = [k for k in range(10) if phi[best[k, 0], k] > np.partition(phi[:, k], -2)[-2]]  # no ties for the best word
    assert len(sure) > 5
    expected = evaluation.exclusivity((phi / phi.sum(axis=0)).T, 1)
    np.testing.assert_allclose(of_mallet.words.exclusivity[sure, 0], expected[sure], rtol=1e-12)


# -- odd topics --------------------------------------------------------------------------------------------------


def test_a_topic_without_tokens_has_zeros() -> None:
    found = topic_diagnostics(Assignments([0, 1], [0, 0], [1, 1], 3), 5)
    assert found.top_words == ((), ("word1", "word0"), ())
    for name in MEASURES:
        assert getattr(found, name)[[0, 2]].tolist() == [0, 0]
    assert_all_defined(found)


def test_one_word_in_one_document() -> None:
    """All tokens are one word: every distance is 0, and the missing words are taken for words of no document."""
    found = topic_diagnostics(Assignments([0, 0, 0], [0, 0, 0], [0, 0, 0], 1, ["tree"]), 20, alpha=0.1, beta=0.5)
    assert {name: getattr(found, name).item() for name in MEASURES} == {
        "tokens": 3,
        "document_entropy": 0.0,
        "word_length": 4 / 20,
        "coherence": pytest.approx(19 * math.log(0.5 / 1.5)),
        "uniform_dist": 0.0,
        "corpus_dist": 0.0,
        "eff_num_words": 1.0,
        "token_doc_diff": 0.0,
        "rank_1_docs": 1.0,
        "allocation_ratio": 1.0,
        "allocation_count": 1.0,
        "exclusivity": 1 / 20,
    }


def test_a_topic_that_no_document_has_to_two_percent_has_no_ratio() -> None:
    z = np.zeros(200, np.int64)
    z[7] = 1
    found = topic_diagnostics(Assignments(np.arange(200) % 5, np.zeros(200, np.int64), z, 2), alpha=0.1)
    assert found.allocation_ratio.tolist() == [1.0, 0.0]
    assert found.rank_1_docs.tolist() == [1.0, 0.0]
    assert_all_defined(found)


def test_of_equal_counts_the_lower_topic_is_first_and_the_higher_word() -> None:
    found = topic_diagnostics(Assignments([0, 1, 2, 3], [0, 0, 0, 0], [1, 1, 0, 0], 2), 1)
    assert found.rank_1_docs.tolist() == [1.0, 0.0]
    assert found.top_words == (("word3",), ("word1",))


def test_a_vocabulary_whose_last_word_never_occurs() -> None:
    found = topic_diagnostics(Assignments([0], [0], [0], 2, ["a", "b"]), 2)
    assert_all_defined(found)
    assert found.uniform_dist[0] == pytest.approx(math.log(2))


# -- sources -----------------------------------------------------------------------------------------------------


def test_plain_arrays_in_any_order_and_both_kinds_of_state_give_the_same() -> None:
    given = random_state(3)
    expected = topic_diagnostics(given)
    order = np.random.default_rng(0).permutation(given.corpus.n_tokens)
    columns = (a[order] for a in (given.corpus.words, given.corpus.token_docs, given.state.z))
    lists = rebuild_lists(given.corpus, given.state.z, 4)
    same_prior = make_prior(given.prior.alpha[0], given.prior.beta, given.corpus.n_docs)
    plain = topic_diagnostics(
        Assignments(*columns, 4, given.corpus.vocabulary), alpha=same_prior.alpha[0], beta=same_prior.beta
    )
    for name in MEASURES:
        np.testing.assert_allclose(
            getattr(topic_diagnostics((given.corpus, lists, given.prior)), name), getattr(expected, name), rtol=1e-13
        )
        np.testing.assert_allclose(
            getattr(plain, name),
            getattr(topic_diagnostics((given.corpus, given.state, same_prior)), name),
            rtol=1e-13,
            atol=1e-15,
        )


def test_priors_that_are_given_take_the_place_of_the_sources() -> None:
    given = random_state(5)
    corpus, state, _ = given
    alpha, beta = np.array([0.1, 3.0, 0.2, 0.1]), np.linspace(0.1, 2.0, corpus.n_words)
    for prior in (given.prior, make_prior(np.ones(4), np.ones(corpus.n_words), corpus.n_docs)):
        both = make_prior(alpha, beta, corpus.n_docs)
        assert_equals_naive(
            topic_diagnostics((corpus, state, prior), 5, alpha=alpha, beta=beta), given._replace(prior=both)
        )
    flat = make_prior(np.full(4, 5 / 4), np.full(corpus.n_words, 0.01), corpus.n_docs)
    assert_equals_naive(topic_diagnostics((corpus, state), 5), given._replace(prior=flat))
    only_alpha = given.prior._replace(alpha=alpha[None], alpha_row=np.zeros(corpus.n_docs, np.int32))
    assert_equals_naive(topic_diagnostics(given, 5, alpha=alpha), given._replace(prior=only_alpha))
    only_beta = flat._replace(alpha=given.prior.alpha, alpha_row=given.prior.alpha_row)
    assert_equals_naive(topic_diagnostics(given, 5, beta=0.01), given._replace(prior=only_beta))


@pytest.fixture(scope="module")
def texts() -> Corpus:
    rng = np.random.default_rng(2)
    documents = [" ".join(f"w{8 * (d % 2) + rng.integers(8)}" for _ in range(12)) for d in range(20)]
    return topicloom.from_texts(documents, labels=[("a",) if d % 2 else ("a", "b") for d in range(20)])


@pytest.mark.parametrize("n_paths", [1, 3])
def test_a_fitted_model_is_judged_by_its_published_chain(texts: Corpus, n_paths: int) -> None:
    model = topicloom.LDA(3, max_iter=20, n_chains=2, n_paths=n_paths, random_state=4).fit(texts)
    chain = model.chains_[model.best_chain_]
    one = chain.prior._replace(alpha_row=chain.prior.alpha_row[: texts.n_docs])
    z = chain.state.z[: texts.n_tokens]
    expected = MalletState(texts, rebuild_counts(texts, z, 3), one)
    assert_equals_naive(topic_diagnostics(model, 6), expected)


def test_documents_with_labels_have_the_prior_of_their_labels_alone(texts: Corpus) -> None:
    model = topicloom.LabeledLDA(max_iter=20, burn_in=10, random_state=4).fit(texts)
    chain = model.chains_[model.best_chain_]
    allowed = [[0] if d % 2 else [0, 1] for d in range(20)]
    expected = MalletState(texts, chain.state, chain.prior)
    assert_equals_naive(topic_diagnostics(model, 6), expected, allowed)


def test_a_loaded_model_gives_the_same(texts: Corpus, tmp_path: Path) -> None:
    model = topicloom.LDA(3, max_iter=10, random_state=4).fit(texts)
    model.save(tmp_path / "model")
    assert topic_diagnostics(topicloom.load(tmp_path / "model")).rows() == topic_diagnostics(model).rows()


# -- draws -------------------------------------------------------------------------------------------------------


def test_draws_of_one_chain_give_means_and_intervals(texts: Corpus) -> None:
    chains: list[Any] = []

    def collect(chain: Any) -> None:
        copied = chain.state._replace(z=chain.state.z.copy())
        chains.append(SimpleNamespace(state=copied, prior=chain.prior))

    model = topicloom.LDA(3, max_iter=40, random_state=1).fit(texts, callbacks=[collect])
    kept = chains[10:]
    found = topic_diagnostics(model, 5, draws=kept, level=0.8)
    each = [topic_diagnostics((texts, draw.state, draw.prior), 5) for draw in kept]
    assert found.intervals is not None
    assert list(found.intervals) == list(MEASURES)
    for name, interval in found.intervals.items():
        values = np.stack([getattr(one, name) for one in each])
        np.testing.assert_allclose(interval.mean, values.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(interval.lower, np.quantile(values, 0.1, axis=0), rtol=1e-12)
        np.testing.assert_allclose(interval.upper, np.quantile(values, 0.9, axis=0), rtol=1e-12)
    # The state itself is as without draws, and rows have the intervals beside it.
    alone = topic_diagnostics(model, 5)
    np.testing.assert_array_equal(found.coherence, alone.coherence)
    row = found.rows()[1]
    assert row["tokens_lower"] <= row["tokens_mean"] <= row["tokens_upper"]
    assert "with intervals" in repr(found)
    # Arrays and states are taken with the source's prior, tuples with their own.
    last = kept[-1]
    for draws in (
        [last.state.z],
        [last.state],
        np.stack([last.state.z]),
        [(texts, last.state, model.chains_[0].prior)],
    ):
        again = topic_diagnostics(model, 5, draws=draws)
        assert again.intervals is not None
        np.testing.assert_array_equal(again.intervals["coherence"].upper, alone.coherence)


@pytest.mark.parametrize(
    ("draws", "says"),
    [
        ([], "a list of one or more states"),
        ("z", "a list of one or more states"),
        (3, "a list of one or more states"),
        ([np.zeros(3, np.int64)], "draw 0: z has shape"),
        ([[0, 1]], "draw 0: there is no topic per token in list"),
        ([random_state(0).state, random_state(0).state._replace(z=np.full(60, 9))], "draw 1: z has"),
        ([random_state(2)], "draw 0 has another corpus"),
    ],
)
def test_draws_that_do_not_fit_are_refused(draws: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        topic_diagnostics(random_state(0), draws=draws)


# -- tables and files --------------------------------------------------------------------------------------------


def test_rows_and_frames_have_every_value(of_mallet: TopicDiagnostics) -> None:
    rows, words = of_mallet.rows(), of_mallet.word_rows()
    assert list(rows[0]) == ["topic", *MEASURES, "words"]
    assert rows[2]["coherence"] == of_mallet.coherence[2]
    assert rows[2]["words"].split() == list(of_mallet.top_words[2])
    assert list(words[0]) == ["topic", "rank", "word", *of_mallet.words._fields[1:]]
    assert len(words) == 200
    assert (words[21]["topic"], words[21]["rank"]) == (1, 2)
    assert words[21]["prob"] == of_mallet.words.prob[1, 1]
    for like, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame), (pl.DataFrame(), pl.DataFrame)):
        topics_frame, words_frame = of_mallet.topics_frame(frame=like), of_mallet.words_frame(frame=like)
        assert isinstance(topics_frame, kind)
        assert topics_frame.shape == (10, 14)
        assert words_frame["word"].to_list()[:20] == list(of_mallet.top_words[0])


def test_json_and_csv_give_back_what_was_written(of_mallet: TopicDiagnostics, tmp_path: Path) -> None:
    of_mallet.to_json(tmp_path / "found.json.gz")
    stored = json.loads(gzip.decompress((tmp_path / "found.json.gz").read_bytes()))
    assert stored["n_top_words"] == 20
    assert [{**topic, "words": 0} for topic in stored["topics"]] == [{**row, "words": 0} for row in of_mallet.rows()]
    words = [{"topic": topic["topic"], **word} for topic in stored["topics"] for word in topic["words"]]
    assert words == of_mallet.word_rows()
    for which, expected in ((False, of_mallet.rows()), (True, of_mallet.word_rows())):
        of_mallet.to_csv(tmp_path / "found.csv", words=which)
        with open(tmp_path / "found.csv", encoding="utf-8", newline="") as file:
            assert list(csv.DictReader(file)) == [{k: str(v) for k, v in row.items()} for row in expected]


def test_words_that_are_no_xml_are_escaped(tmp_path: Path) -> None:
    odd = ["a<b", "R&D", "x>y", "'\"", "nul\x00", "𝛼"]
    topic_diagnostics(Assignments(range(6), [0] * 6, [0] * 6, 1, odd)).to_mallet_xml(tmp_path / "odd.xml")
    words = [word.text for word in ElementTree.parse(tmp_path / "odd.xml").getroot()[0]]
    assert words[::-1] == [*odd[:4], "nul\ufffd", "𝛼"]


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.00125, 4, "0.0013"), (2.675, 2, "2.68"), (-0.00005, 4, "-0.0001"), (1e-9, 4, "0.0000"),
        (3189, 4, "3189.0000"),
        (0.29999999999999999, 4, "0.3000"), (1e17 + 16, 4, "100000000000000020.0000"), (0.0000349, 5, "0.00003"),
    ],
)  # fmt: skip
def test_numbers_are_rounded_as_java_does(value: float, digits: int, text: str) -> None:
    assert topics._as_java(value, digits) == text


# -- hostile input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (None, "expected a fitted model"),
        ("state.gz", "expected a fitted model"),
        ((1, 2, 3), "expected a fitted model"),
        (Assignments([], [], [], 2), "no tokens"),
        (Assignments([0], [0], [0], 0), "n_topics=0"),
        (Assignments([0], [0], [0], True), "n_topics=True"),
        (Assignments([0], [0], [2], 2), "z has 2; its numbers go from 0 to 1"),
        (Assignments([-1], [0], [0], 2), "words has -1"),
        (Assignments([0], [1 << 40], [0], 2), "docs has 1099511627776"),
        (Assignments([1 << 30], [0], [0], 2), "words has 1073741824"),
        (Assignments([0, 1], [0], [0, 0], 2), "docs has 1 entry and words 2"),
        (Assignments([0.5], [0], [0], 2), "words must be a vector of whole numbers"),
        (Assignments([[0]], [0], [0], 2), "words must be a vector of whole numbers"),
        (Assignments([0], [0], [object()], 2), "z must be a vector of whole numbers"),
        (Assignments([1], [0], [0], 2, ["a"]), "outside the vocabulary"),
        (Assignments([1], [0], [0], 2, "ab"), "vocabulary must be a sequence"),
        (Assignments([1], [0], [0], 2, ["a", "a"]), "'a' twice"),
        ((random_state(0).corpus, np.zeros(3, np.int64), random_state(0).prior), "z has shape"),
        ((random_state(0).corpus, random_state(0).state.z), "number of topics is not known"),
        ((random_state(0).corpus, random_state(0).state, "prior"), "not that of a topic model"),
        ((random_state(0).corpus, None, random_state(0).prior), "no topic per token in NoneType"),
        ((random_state(0).corpus, random_state(0).state, random_state(0, n_words=9).prior), "the prior has 9 words"),
        ((topicloom.from_matrix([[0.5, 1.0]]), np.zeros(2, np.int64), None), "weighted"),
    ],
)  # fmt: skip
def test_sources_that_cannot_be_judged_are_refused(source: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        topic_diagnostics(source)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"n_top_words": 0}, "n_top_words=0"),
        ({"n_top_words": 2.5}, "n_top_words=2.5"),
        ({"level": 2}, "level=2"),
        ({"alpha": -1.0}, "alpha is -1.0"),
        ({"alpha": [1.0, 2.0]}, "alpha has shape"),
        ({"alpha": "much"}, "alpha is 'much'"),
        ({"beta": np.nan}, "beta is nan"),
        ({"draws": [random_state(0).state.z], "level": 1.0}, "level=1.0"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        topic_diagnostics(random_state(0), **options)


def test_models_without_a_topic_per_token_are_refused(texts: Corpus) -> None:
    with pytest.raises(InputError, match="no topic per token in VariationalState"):
        topic_diagnostics(topicloom.VariationalLDA(2, max_iter=200, random_state=1).fit(texts))
    with pytest.raises(InputError, match="not that of a topic model"):
        topic_diagnostics(topicloom.HMM(2, max_iter=20, random_state=1).fit(texts))
    with pytest.raises(NotFittedError):
        topic_diagnostics(topicloom.LDA(2))


def test_more_pairs_of_top_words_than_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_statistics, "available_memory", lambda: 1000)
    monkeypatch.setattr(topic_statistics, "_MOST_BYTES", 2000)
    with pytest.raises(InputError, match="ask for fewer with n_top_words"):
        topic_diagnostics(random_state(0), 15)
    assert topic_diagnostics(random_state(0), 5).n_topics == 4


def test_more_top_words_than_there_are_words_need_no_room() -> None:
    given = random_state(0)
    found = topic_diagnostics(given, 10**9)
    assert found.words.word.shape == (4, given.corpus.n_words)
    assert_all_defined(found)


def test_examples_in_docstrings_run() -> None:
    ran = doctest.testmod(topics)
    assert ran.attempted > 5
    assert ran.failed == 0
