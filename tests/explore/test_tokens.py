"""Topics of tokens with their conditionals, and their places in texts of any script."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import topicloom
from topicloom.corpus.corpus import TextOptions
from topicloom.corpus.text import DEFAULT_PATTERN, tokenize
from topicloom.explore.source import read_assignments, read_model
from topicloom.explore.tokens import TokenTopics, clean, coloured, places, token_topics
from topicloom.lda.gibbs import get_sampler

OPTIONS = TextOptions(DEFAULT_PATTERN, True)
TEXTS = [
    "Goal, GOAL and match.",
    "Größe ÉLECTEUR électeur",  # composed
    "E\u0301lecteur re\u0301sume\u0301 voilà",  # decomposed: two characters become one
    "İstanbul İzmir ΟΔΥΣΣΕΥΣ",  # lower case is longer; a final sigma
    "水域 река ποταμός नदी แม่น้ำ",
    "😀 river 👍🏽 bank 𝒜𝓁𝓅𝒽𝒶 boat",  # beyond 16 bits
    "\u1112\u1161\u11ab\u1100\u116e\u11a8 한국 river",  # Hangul in parts
    "שָׁלוֹם مَرْحَبًا river",
    "<b>river</b> </script> &amp; \"bank\" 'boat'",
    "",
]


def in_units(text: str, start: int, length: int) -> str:
    raw = text.encode("utf-16-le")
    return raw[2 * start : 2 * (start + length)].decode("utf-16-le")


@pytest.mark.parametrize("text", TEXTS)
def test_words_are_found_where_they_are(text: str) -> None:
    found = places(text, OPTIONS)
    assert [place.word for place in found] == tokenize(text, OPTIONS)
    for place in found:
        assert tokenize(in_units(text, place.start, place.length), OPTIONS) == [place.word]
    assert all(a.start + a.length <= b.start for a, b in pairwise(found))


def test_a_pattern_with_a_group_and_capital_letters() -> None:
    text = "#River and #Bank"
    found = places(text, TextOptions(r"#(\w+)", False))
    assert [(place.word, in_units(text, place.start, place.length)) for place in found] == [
        ("River", "River"), ("Bank", "Bank"),
    ]  # fmt: skip


def test_tokens_take_their_topics_in_the_order_of_the_text() -> None:
    text = "River, the Bank; river 😀 bank"
    words = ["river", "bank", "river", "bank"]
    topics = TokenTopics(np.array([3, 1, 2, 0]), np.array([1.0, 0.5, 0.0, 0.26]))
    found, n = coloured(text, words, topics, OPTIONS)
    assert n == 4
    assert [token[2:] for token in found] == [[3, 15], [1, 8], [2, 0], [0, 4]]
    end, shown = 0, []
    for start, length, *_ in found:
        shown.append(in_units(text, end + start, length))
        end += start + length
    assert shown == ["River", "Bank", "river", "bank"]


def test_what_no_page_can_hold_is_replaced() -> None:
    assert clean("a\0b\ud800c😀") == "a\ufffdb\ufffdc😀"
    assert clean("plain") == "plain"


# -- how sure topics are ---------------------------------------------------------------------------------------------


def check_conditionals(model: Any, sampler: Any, corpus: topicloom.Corpus, documents: list[int]) -> None:
    """Against the sampler's own conditional of each token."""
    chain = model.chains_[model.best_chain_]
    of_tokens = token_topics(read_model(model))
    for d in documents:
        found = of_tokens(d)
        tokens = range(corpus.doc_ptr[d], corpus.doc_ptr[d + 1])
        weights = [sampler.conditional(corpus, chain.state, chain.prior, token) for token in tokens]
        assert found.topic.tolist() == chain.state.z[tokens.start : tokens.stop].tolist()
        expected = [w[k] / w.sum() for w, k in zip(weights, found.topic, strict=True)]
        assert found.share == pytest.approx(expected, rel=1e-9)


def test_shades_are_the_conditionals_of_the_sampler(model: Any, corpus: topicloom.Corpus) -> None:
    check_conditionals(model, get_sampler("dense"), corpus, [0, 1, 7, 30])


def test_of_a_state_they_are_the_same(model: Any, corpus: topicloom.Corpus) -> None:
    chain = model.chains_[model.best_chain_]
    of_state = token_topics(read_assignments(corpus, chain.state, chain.prior))
    of_model = token_topics(read_model(model))
    for d in (0, 3):
        assert of_state(d).share == pytest.approx(of_model(d).share, rel=1e-12)


def test_of_seed_words_labels_and_classes(corpus: topicloom.Corpus) -> None:
    quick = {"max_iter": 4, "random_state": 0}
    seeded = topicloom.LDA(4, seed_words={1: ["goal"]}, sampler="dense", **quick).fit(corpus)
    check_conditionals(seeded, get_sampler("dense"), corpus, [0, 2])
    labels = [["a", "b"] if d % 2 else ["b", "c"] for d in range(corpus.n_docs)]
    labeled = topicloom.LabeledLDA(**quick, burn_in=None).fit(corpus, labels)
    check_conditionals(labeled, labeled._chain_sampler(), corpus, [0, 1])
    classes = topicloom.MedLDAClassifier(3, **quick, burn_in=None).fit(corpus, [d % 3 for d in range(corpus.n_docs)])
    check_conditionals(classes, classes._chain_sampler(), corpus, [0, 1])


def test_documents_that_a_sampler_left_out_have_no_topics(corpus: topicloom.Corpus) -> None:
    """A labeled model takes no tokens of documents without labels."""
    labels = [[] if d == 3 else ["a", "b"] for d in range(corpus.n_docs)]
    model = topicloom.LabeledLDA(max_iter=4, burn_in=None, random_state=0).fit(corpus, labels)
    of_tokens = token_topics(read_model(model))
    assert len(of_tokens(3).topic) == 0
    assert len(of_tokens(4).topic) == corpus.doc_lengths[4]


def test_a_model_without_draws_has_the_likeliest_topics(corpus: topicloom.Corpus) -> None:
    model = topicloom.VariationalLDA(4, method="cvb0", max_iter=5, tol=0.0, random_state=0).fit(corpus)
    found = token_topics(read_model(model))(2)
    words = corpus.words[corpus.doc_ptr[2] : corpus.doc_ptr[3]]
    joint = model.doc_topic_[2] * model.topic_word_[:, words].T
    assert found.topic.tolist() == joint.argmax(axis=1).tolist()
    assert found.share == pytest.approx(joint.max(axis=1) / joint.sum(axis=1))
