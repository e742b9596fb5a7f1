"""Topics of the page: numbers, words, relevance, map, tree, measures."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.cluster.hierarchy
from scipy.spatial.distance import jensenshannon

import topicloom
from topicloom.diagnostics.fitted import diagnose
from topicloom.diagnostics.topics import topic_diagnostics
from topicloom.evaluation.topics import topic_sizes
from topicloom.explore import content
from topicloom.explore.source import Source


def test_topic_numbers_are_those_of_the_model(core: dict[str, Any], model: Any, corpus: topicloom.Corpus) -> None:
    assert len(core["topics"]) == len(model.topic_word_)
    texts = core["words"]["text"]
    for k, topic in enumerate(core["topics"]):
        phi = model.topic_word_[k]
        for word, value in topic["words"]:
            assert value == pytest.approx(phi[model.vocabulary_.index(texts[word])], rel=1e-3)
        assert texts[topic["words"][0][0]] == model.top_words(1)[k][0]
        assert topic["share"] == pytest.approx(topic_sizes(model.doc_topic_, corpus.doc_lengths)[k], rel=1e-3)
        filled = model.doc_topic_[corpus.doc_lengths > 0]
        assert topic["docs"] == np.count_nonzero(filled.argmax(axis=1) == k)


def test_relevance_of_the_page_equals_an_independent_computation(core: dict[str, Any], model: Any) -> None:
    """The page computes λ log φ + (1 − λ) log (φ / p) from its rounded numbers: the same words, in the same order."""
    corpus = model.corpus_
    counts = np.bincount(corpus.words, minlength=corpus.n_words)
    texts, share = core["words"]["text"], core["words"]["share"]
    for k, topic in enumerate(core["topics"]):
        for weight in (0.0, 0.3, 0.6, 1.0):
            exact = {}
            for v, word in enumerate(model.vocabulary_):
                phi, p = model.topic_word_[k, v], counts[v] / counts.sum()
                exact[word] = weight * math.log(phi) + (1 - weight) * math.log(phi / p)
            page = {
                texts[w]: weight * math.log(phi) + (1 - weight) * math.log(phi / share[w]) for w, phi in topic["words"]
            }
            for word, value in page.items():
                assert value == pytest.approx(exact[word], abs=2e-3)
            best = sorted(exact.values(), reverse=True)[: len(exact)][:30]
            assert sorted(page.values(), reverse=True)[: len(best)] == pytest.approx(best, abs=2e-3)
        assert topic["label"].split(", ") == [
            word for word, _ in sorted(
                ((word, _relevance(model, counts, k, v)) for v, word in enumerate(model.vocabulary_)),
                key=lambda pair: -pair[1],
            )[:3]
        ]  # fmt: skip


def _relevance(model: Any, counts: Any, k: int, v: int) -> float:
    phi, p = model.topic_word_[k, v], counts[v] / counts.sum()
    return float(0.6 * math.log(phi) + 0.4 * math.log(phi / p))


def test_words_have_their_topics(core: dict[str, Any], model: Any, source: Source) -> None:
    for text, pairs in zip(core["words"]["text"], core["words"]["topics"], strict=True):
        joint = model.topic_word_[:, model.vocabulary_.index(text)] * source.share
        given = joint / joint.sum()
        assert dict(map(tuple, pairs)) == pytest.approx({k: p for k, p in enumerate(given) if p >= 0.01}, abs=1e-3)
        assert [p for _, p in pairs] == sorted((p for _, p in pairs), reverse=True)


def test_the_map_shows_jensen_shannon_distances(core: dict[str, Any], model: Any) -> None:
    """With four topics there are three dimensions: two shown, whose share is told."""
    phi = model.topic_word_
    distance = np.array([[jensenshannon(a, b, 2) for b in phi] for a in phi])
    centred = np.eye(4) - 0.25
    values = np.linalg.eigvalsh(-0.5 * centred @ distance**2 @ centred)[::-1]
    places = np.array([[topic["x"], topic["y"]] for topic in core["topics"]])
    assert np.sum(places**2, axis=0) == pytest.approx(values[:2], abs=1e-4)
    assert core["map"]["explained"] == pytest.approx(values[:2] / values[values > 0].sum(), abs=1e-3)
    shown = np.linalg.norm(places[:, None] - places[None], axis=2)
    assert np.all(shown <= distance + 1e-3)
    for k, topic in enumerate(core["topics"]):
        near = sorted((distance[k, other], other) for other in range(4) if other != k)
        assert [other for other, _ in topic["related"]] == [other for _, other in near]
        assert [value for _, value in topic["related"]] == pytest.approx([1 - d for d, _ in near], abs=1e-4)
    condensed = distance[np.triu_indices(4, 1)]
    tree = scipy.cluster.hierarchy.linkage(condensed, "average")
    assert np.array(core["tree"]) == pytest.approx(tree, rel=1e-3)


def test_measures_verdict_and_chains_are_those_of_diagnostics(core: dict[str, Any], model: Any) -> None:
    found, judged = topic_diagnostics(model), diagnose(model)
    assert core["verdict"] == judged.verdict.line == model.verdict_
    for k, topic in enumerate(core["topics"]):
        measures = topic["measures"]
        assert measures["tokens"] == found.tokens[k]
        assert measures["MALLET coherence"] == pytest.approx(found.coherence[k], rel=1e-3)
        assert topic["chains"] == [judged.topics[k].chains, 2]
        assert set(measures) == set(core["measures_about"])


def test_how_the_model_was_made(core: dict[str, Any], model: Any) -> None:
    about = dict(map(tuple, core["about"]))
    assert about["fingerprint"] == core["fingerprint"] == model.fingerprint_
    assert about["n_components"] == "4"
    assert "fit_seconds" not in str(core["about"])
    again = eval(core["command"].removesuffix(".fit(corpus)"), {"topicloom": topicloom})
    assert again.fit(model.corpus_).fingerprint_ == model.fingerprint_


def test_names_that_a_user_gave_are_in_the_page(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from topicloom.explore import payload
    from topicloom.explore.source import read_model

    monkeypatch.setattr(type(model), "topic_names_", (None, "law", None, None), raising=False)
    topics = payload(read_model(model), documents=0)["data-core"]["topics"]
    assert [topic["name"] for topic in topics] == [None, "law", None, None]


def test_colours_differ() -> None:
    colours = {content.color(k, 100) for k in range(100)}
    assert len(colours) == 100
    assert all(len(colour) == 7 and colour.startswith("#") for colour in colours)
