"""Several models side by side: flows and matches are those of diagnostics."""

from typing import Any

import numpy as np
import pytest

import topicloom
from topicloom.diagnostics.alignment import align, chain_topics
from topicloom.diagnostics.topic_flows import flows
from topicloom.errors import InputError
from topicloom.explore import explore_models
from topicloom.explore.several import compare
from topicloom.explore.source import Source, read_model


@pytest.fixture(scope="module")
def other(corpus: topicloom.Corpus) -> Any:
    return topicloom.LDA(3, max_iter=30, doc_topic_prior=0.1, topic_word_prior=0.05, random_state=3).fit(corpus)


def test_flows_and_matches(source: Source, model: Any, other: Any) -> None:
    found = compare(["four", "three"], [source, read_model(other)])
    (expected,) = flows([model, other])
    assert found["names"] == ["four", "three"]
    weights = np.zeros((4, 3))
    for a, b, weight in found["flows"][0]:
        weights[a, b] = weight
    assert weights == pytest.approx(np.where(expected.weights >= 1e-3, expected.weights, 0), rel=1e-3)
    assert found["matches"] == [align([model, other], reference=0).matches[1].tolist()]
    assert [len(topics) for topics in found["topics"]] == [4, 3]
    assert [topic["share"] for topic in found["topics"][0]] == pytest.approx(source.share, rel=1e-3)


def test_chains_of_a_model_are_compared(core: dict[str, Any], model: Any) -> None:
    best = model.best_chain_
    assert core["models"]["names"] == [f"chain {best}", f"chain {1 - best}"]
    assert core["models"]["matches"] == [align(chain_topics(model), reference=best).matches[1 - best].tolist()]


def test_models_over_different_words(source: Source, corpus: topicloom.Corpus) -> None:
    fewer = corpus.with_vocabulary(corpus.vocabulary[3:])
    small = topicloom.LDA(2, max_iter=5, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).fit(fewer)
    found = compare(["a", "b"], [source, read_model(small)])
    assert len(found["matches"][0]) == 4
    short = topicloom.LDA(2, max_iter=2, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0)
    of_ten = read_model(short.fit(corpus.select(range(10))))
    with pytest.raises(InputError, match=r"b has 10 documents and a 80"):
        compare(["a", "b"], [source, of_ten])


def test_models_have_names_of_their_own(model: Any, other: Any, tmp_path: Any) -> None:
    from tests.explore.conftest import blocks_of

    core = blocks_of(explore_models([model, other, model], tmp_path / "a.html", documents=0))["data-core"]
    assert core["models"]["names"] == ["LDA, 4 topics (1)", "LDA, 3 topics", "LDA, 4 topics (2)"]
    assert len(core["topics"]) == 4
    hidden = topicloom.HMM(2, max_iter=2, random_state=0).fit([[0, 1, 1], [1, 0]])
    with pytest.raises(InputError, match="HMM has no topics"):
        explore_models([model, hidden], tmp_path / "a.html")
