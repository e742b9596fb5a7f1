"""Diagnostics of topics: MALLET's own values of one state, plain loops, odd topics, every source, tables and files."""

import csv
import gzip
import json
import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.diagnostics.naive_topics import assert_all_defined, assert_equals_naive, random_state
from tests.helpers.mallet_state import FIXTURES, mallet_state
from topicloom import evaluation, mallet
from topicloom.diagnostics import topic_statistics, topics
from topicloom.diagnostics.topics import MEASURES, Assignments, TopicDiagnostics, topic_diagnostics
from topicloom.errors import InputError
from topicloom.mallet import MalletState


@pytest.fixture(scope="module")
def mallets() -> MalletState:
    """The state that MALLET wrote, with its priors."""
    return mallet_state()


@pytest.fixture(scope="module")
def mallets_xml() -> bytes:
    return gzip.decompress((FIXTURES / "diagnostics.xml.gz").read_bytes())


@pytest.fixture(scope="module")
def of_mallet(mallets: MalletState) -> TopicDiagnostics:
    return topic_diagnostics(mallets)


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


def test_sums_of_the_prior_are_not_blurred_by_rounding() -> None:
    """(0.1 + 2) / (30 · 0.1 + 4) is 0.3, which adding up 0.1 thirty times would miss."""
    found = topic_diagnostics(Assignments([0, 1, 2, 3], [0] * 4, [0, 0, 1, 2], 30), alpha=0.1)
    assert found.allocation_count.tolist() == [1.0] + [0.0] * 29


def test_a_vocabulary_whose_last_word_never_occurs() -> None:
    found = topic_diagnostics(Assignments([0], [0], [0], 2, ["a", "b"]), 2)
    assert_all_defined(found)
    assert found.uniform_dist[0] == pytest.approx(math.log(2))


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


# -- sizes and docs ----------------------------------------------------------------------------------------------


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
