"""What labeled, supervised, compound and hidden Markov models add."""

from typing import Any

import numpy as np
import pytest

import topicloom
from topicloom.explore import payload
from topicloom.explore.families import stationary
from topicloom.explore.source import read_model

QUICK: dict[str, Any] = {"max_iter": 6, "random_state": 0}


def test_labels(corpus: topicloom.Corpus) -> None:
    labels = [["a", "b"] if d % 2 else ["b", "c"] for d in range(corpus.n_docs)]
    model = topicloom.LabeledLDA(**QUICK, burn_in=None).fit(corpus, labels)
    core = payload(read_model(model), documents=0)["data-core"]
    found = core["family"]["labels"]
    assert found["names"] == ["a", "b", "c"] == [topic["name"] for topic in core["topics"]]
    assert core["topic_name"] == "label"
    assert found["docs"] == model.label_counts_.tolist()
    assert found["related"] == [[[1, 40]], [[0, 40], [2, 40]], [[1, 40]]]
    assert core["words"]["text"][found["words"][0][0]] == core["topics"][0]["label"].split(", ")[0]


@pytest.mark.parametrize("multi_class", ["multitask", "ovr"])
def test_classes(corpus: topicloom.Corpus, multi_class: Any) -> None:
    y = [("x", "y", "z")[d % 3] for d in range(corpus.n_docs)]
    model = topicloom.MedLDAClassifier(4, multi_class=multi_class, **QUICK, burn_in=None).fit(corpus, y)
    core = payload(read_model(model), documents=0)["data-core"]
    found = core["family"]["classes"]
    assert found["names"] == ["x", "y", "z"]
    assert found["n"] == [27, 27, 26]
    assert not found["numbers"]
    for c, weights in enumerate(found["weights"]):
        if multi_class == "multitask":
            assert weights == pytest.approx(model.coef_[c], rel=1e-3)
        else:  # topics of one class are not those of another
            assert (weights is None) == (c != model.best_chain_)
    if multi_class == "multitask":
        given = model.components_ / model.components_.sum(axis=0)
        for c, pairs in enumerate(found["words"]):
            values = (model.coef_[c] - model.coef_.mean(axis=0)) @ given  # against the other classes
            push = dict(zip(model.vocabulary_, values, strict=True))
            texts = [core["words"]["text"][word] for word, _ in pairs]
            assert [value for _, value in pairs] == pytest.approx([push[text] for text in texts], rel=1e-3, abs=1e-9)
            counts = np.asarray(corpus.word_counts, float)
            adds = counts * (values - counts @ values / counts.sum())
            order = [model.vocabulary_[v] for v in np.argsort(-adds, kind="stable")]
            assert sorted(texts) == sorted(order)  # there are fewer than sixty
            assert (texts[0], texts[-1]) == (order[0], order[-1])


def test_numbers(corpus: topicloom.Corpus) -> None:
    model = topicloom.MedLDARegressor(3, **QUICK, burn_in=None).fit(corpus, np.arange(80.0) % 7)
    found = payload(read_model(model), documents=0)["data-core"]["family"]["classes"]
    assert found["numbers"]
    assert found["names"] == ["low", "high"]
    assert found["weights"][1] == pytest.approx(model.coef_[0], rel=1e-3)
    assert found["n"] == [None, None]


def test_collections(corpus: topicloom.Corpus) -> None:
    groups = [str(2000 + d % 3) for d in range(80)]
    model = topicloom.CompoundLDA(3, max_iter=30, thin=1, random_state=0).fit(corpus.with_metadata(groups=groups))
    core = payload(read_model(model), documents=0)["data-core"]
    found = core["family"]["collections"]
    assert found["names"] == ["2000", "2001", "2002"]
    assert found["values"] == [2000, 2001, 2002]
    frame = model.prevalence(frame="pandas")
    table = frame[["mean", "lower", "upper"]].to_numpy().reshape(3, 3, 3)
    assert np.array(found["pi"]) == pytest.approx(table, rel=1e-3)
    assert np.array(core["groups"][0]["topics"]) == pytest.approx(table.transpose(1, 0, 2), rel=1e-3)
    assert "mixtures π" in core["intervals_about"]
    for pair in found["differences"]:
        own = model.differences(*(found["names"][pair[which]] for which in ("first", "second")), frame="pandas")
        columns = own[["mean", "lower", "upper", "probability"]].to_numpy()
        assert np.array(pair["topics"]) == pytest.approx(columns, rel=1e-3)
    assert len(found["differences"]) == 3
    trends = model.trends(frame="pandas")[["mean", "lower", "upper", "probability"]].to_numpy()
    assert np.array(found["trends"]) == pytest.approx(trends, rel=1e-3)


def test_states() -> None:
    sequences = [["a", "b", "b", "c"], ["c", "c", "a"], [], ["b", "a"]]
    model = topicloom.HMM(2, **QUICK).fit(sequences)
    data = payload(read_model(model))
    core = data["data-core"]
    found, texts = core["family"]["states"], core["words"]["text"]
    assert (core["topic_name"], core["word_name"], core["doc_name"]) == ("state", "symbol", "sequence")
    assert found["n"] == 2
    assert np.array(found["transitions"]) == pytest.approx(model.transition_, rel=1e-3)
    assert found["start"] == pytest.approx(model.initial_, rel=1e-3)
    assert np.array(found["stationary"]) @ model.transition_ == pytest.approx(found["stationary"], abs=1e-3)
    for state, pairs in enumerate(found["symbols"]):
        for word, p in pairs:
            assert p == pytest.approx(model.emission_[state, model.alphabet_.index(texts[word])], rel=1e-3)
    for sequence, own, share in zip(sequences, found["sequences"], model.predict_proba(sequences), strict=True):
        assert [texts[word] for word in own["symbols"]] == sequence
        assert own["states"] == share.argmax(axis=1).tolist()
        assert own["probability"] == pytest.approx(share.max(axis=1), abs=5e-3)
    tokens = data["data-texts-0"]["docs"][0]["tokens"]
    assert [state for _, state, _ in tokens] == found["sequences"][0]["states"]


def test_the_long_run_of_states() -> None:
    assert stationary(np.array([[0.0, 1.0], [1.0, 0.0]])) == pytest.approx([0.5, 0.5])
    assert stationary(np.array([[0.9, 0.1], [0.3, 0.7]])) == pytest.approx([0.75, 0.25])
    assert stationary(np.array([[0.5, 0.5], [0.0, 1.0]])) == pytest.approx([0.0, 1.0], abs=1e-9)
    assert stationary(np.eye(2)) == pytest.approx([0.5, 0.5])


def test_predictions_of_held_out_documents(corpus: topicloom.Corpus) -> None:
    y = [("x", "y", "z")[d % 3] for d in range(corpus.n_docs)]
    train, new = corpus.select(range(60)), corpus.select(range(60, 80))
    model = topicloom.MedLDAClassifier(4, loss="logistic", **QUICK, burn_in=None).fit(train, y[:60])
    found = payload(read_model(model), documents=0, held_out=(new, y[60:]))["data-core"]["family"]["classes"]
    report, said = model.label_report(new, y[60:]), model.predict(new)
    own = np.array(y[60:])
    assert found["confusion"] == [[int(np.sum((own == a) & (said == b))) for b in "xyz"] for a in "xyz"]
    assert [row[0] for row in found["report"]["rows"]] == ["x", "y", "z"]
    assert [row[5] for row in found["report"]["rows"]] == pytest.approx(report.f1, rel=1e-3)
    assert [row[6][0] for row in found["report"]["rows"]] == pytest.approx(report.expected, rel=1e-3)
    assert payload(read_model(model), documents=0)["data-core"]["family"]["classes"]["confusion"] is None
    sets = topicloom.LabeledLDA(**QUICK, burn_in=None).fit(train, [[own] for own in y[:60]])
    labelled = new.with_metadata(labels=[[own] for own in y[60:]])
    report = payload(read_model(sets), documents=0, held_out=labelled)["data-core"]["family"]["labels"]["report"]
    assert report["docs"] == 20
    for model, held_out, message in (
        (topicloom.LDA(2, **QUICK).fit(train), labelled, "held_out is for models of labels or classes"),
        (sets, "zebra", "held_out is 'zebra'"),
        (sets, new, "the documents have no labels to compare with"),
    ):
        with pytest.raises(topicloom.errors.InputError, match=message):
            payload(read_model(model), documents=0, held_out=held_out)
