"""Which documents are in a page, and what it has of them."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import topicloom
from tests.explore.conftest import N_DOCS, texts
from topicloom.errors import InputError
from topicloom.explore import payload
from topicloom.explore.documents import N_TOP, PER_BLOCK, choose
from topicloom.explore.source import Source


def test_every_document_has_its_row(data: dict[str, Any], model: Any, corpus: topicloom.Corpus) -> None:
    docs, core = data["data-docs"], data["data-core"]
    assert docs["row"] == list(range(N_DOCS))
    assert docs["id"][3] == "doc 3"
    assert docs["tokens"] == corpus.doc_lengths.tolist()
    assert docs["time"][:6] == [1990, 1991, 1992, 1993, 1994, 1990]
    assert docs["group"][:3] == ["right", "left", "left"]
    assert docs["title"][0] == "doc 0: " + texts()[0][:80].rsplit(" ", 1)[0] + " …"
    assert docs["title"][7] == "doc 7"  # it has no text
    for d, pairs in enumerate(docs["topics"]):
        expected = {k: p for k, p in enumerate(model.doc_topic_[d]) if p >= 0.01}
        assert dict(map(tuple, pairs)) == pytest.approx(expected, abs=5e-4)
        assert [p for _, p in pairs] == sorted((p for _, p in pairs), reverse=True)
    assert core["documents"] == {
        "n": N_DOCS, "of": N_DOCS, "sampled": False, "texts": "whole", "per_block": PER_BLOCK, "cut": 10_000,
    }  # fmt: skip


def test_the_index_has_every_word_of_every_document(data: dict[str, Any], corpus: topicloom.Corpus) -> None:
    terms = data["data-core"]["words"]["text"] + data["data-docs"]["vocabulary"]
    assert len(set(terms)) == len(terms)
    for d, pairs in enumerate(data["data-docs"]["words"]):
        numbers = np.cumsum([step for step, _ in pairs])
        assert all(step > 0 for step, _ in pairs[1:])
        found = Counter({terms[w]: n for w, (_, n) in zip(numbers, pairs, strict=True)})
        own = corpus.words[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]]
        assert found == Counter(corpus.vocabulary[v] for v in own)


def test_texts_and_tokens(data: dict[str, Any], corpus: topicloom.Corpus) -> None:
    given = texts()
    shown = [doc for i in range(2) for doc in data[f"data-texts-{i}"]["docs"]]
    assert "data-texts-2" not in data
    assert [doc["text"] for doc in shown] == given
    for doc, n in zip(shown, corpus.doc_lengths, strict=True):
        assert len(doc["tokens"]) == n
        assert not doc["cut"]


def test_best_documents_of_a_topic(core: dict[str, Any], model: Any, corpus: topicloom.Corpus) -> None:
    for k, topic in enumerate(core["topics"]):
        shares = np.where(corpus.doc_lengths > 0, model.doc_topic_[:, k], 0)
        expected = [int(d) for d in np.argsort(-shares, kind="stable")[:N_TOP] if shares[d] >= 0.01]
        assert [d for d, _ in topic["top_docs"]] == expected
        assert 7 not in expected


def test_a_sample_has_each_topics_best_and_its_part_of_every_group_and_time(source: Source) -> None:
    rng = np.random.default_rng(0)
    n, k = 1000, 5
    corpus = topicloom.Corpus(
        np.zeros(2 * n, np.int32), np.arange(0, 2 * n + 1, 2), ("a", "b"), groups=["x"] * 800 + ["y"] * 200,
        times=[2000 + d % 4 for d in range(n)],
    )  # fmt: skip
    theta = rng.dirichlet(np.full(k, 0.3), n)
    large = replace(source, corpus=corpus, theta=theta, phi=np.full((k, 2), 0.5))
    docs = choose(large, 100, None, 10)
    assert len(docs.rows) == 100
    assert docs.sampled
    assert np.all(np.diff(docs.rows) > 0)
    for topic in range(k):
        assert set(np.argsort(-theta[:, topic])[:10].tolist()) <= set(docs.rows.tolist())
    of_groups = Counter(corpus.groups[d] for d in docs.rows)  # type: ignore[index]
    assert 70 <= of_groups["x"] <= 90
    of_times = Counter(int(corpus.times[d]) for d in docs.rows)  # type: ignore[index]
    assert min(of_times.values()) >= 15
    assert np.array_equal(choose(large, 100, None, 10).rows, docs.rows)
    assert len(choose(large, 3, None, 10).rows) == 3
    assert len(choose(large, 0, None, 10).rows) == 0


def test_without_texts_tokens_are_words(source: Source, corpus: topicloom.Corpus) -> None:
    found = payload(source, texts=False)
    tokens = found["data-texts-0"]["docs"][2]["tokens"]
    own = corpus.words[corpus.doc_ptr[2] : corpus.doc_ptr[3]]
    assert [word for word, _, _ in tokens] == [corpus.vocabulary[v] for v in own]
    assert found["data-core"]["documents"]["texts"] == "none"
    assert found["data-docs"]["title"][2] == "doc 2"
    none = payload(source, documents=0)
    assert "data-texts-0" not in none
    assert none["data-docs"]["row"] == []
    assert all(topic["top_docs"] == [] for topic in none["data-core"]["topics"])


def test_long_texts_are_cut(source: Source) -> None:
    found = payload(source, texts=texts(), text_length=30)
    assert found["data-core"]["documents"]["texts"] == "cut"
    for doc, text in zip(found["data-texts-0"]["docs"], texts(), strict=False):
        assert doc["text"] == text[:30]
        assert doc["cut"] == (len(text) > 30)
        end = sum(start + length for start, length, *_ in doc["tokens"])
        assert end <= 30


def test_texts_of_other_documents_are_refused(source: Source) -> None:
    with pytest.raises(InputError, match=r"texts has 2 entries but the model has 80 documents"):
        payload(source, texts=["a", "b"])
    with pytest.raises(InputError, match="entry 3 is None; every text must be a string"):
        payload(source, texts=[*texts()[:3], None, *texts()[4:]])
    with pytest.raises(InputError, match="the texts are not those of the model: of 1,369 tokens"):
        payload(source, texts=["other words"] * N_DOCS)
    with pytest.raises(InputError, match="documents"):
        payload(source, documents=-1)
    with pytest.raises(InputError, match="level"):
        payload(source, level=1.0)
    with pytest.raises(InputError, match="text_length"):
        payload(source, text_length=0)
    with pytest.raises(InputError, match="title is 3"):
        payload(source, title=3)
