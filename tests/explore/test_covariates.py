"""Prevalence over time and by group is that of the Python functions."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import topicloom
from topicloom.evaluation import label_prevalence
from topicloom.explore import covariates
from topicloom.explore.source import Source, read_model


def expected(model: Any, corpus: topicloom.Corpus, labels: list[Any]) -> Any:
    """As a user would compute it."""
    alpha = model.chains_[model.best_chain_].prior.alpha[0]
    filled = corpus.doc_lengths > 0
    known = [label if ok else None for label, ok in zip(labels, filled, strict=True)]
    return label_prevalence(model.doc_topic_, known, corpus.doc_lengths + alpha.sum(), base=alpha, level=0.9)


def check(found: Any, own: Any) -> None:
    assert found["docs"] == own.docs.tolist()
    shown = np.array(found["topics"])  # [topic][label]
    for i, name in enumerate(("mean", "lower", "upper")):
        assert shown[:, :, i] == pytest.approx(getattr(own, name).T, rel=1e-3)


def test_times_and_groups(core: dict[str, Any], model: Any, corpus: topicloom.Corpus) -> None:
    times = core["times"]
    assert times["labels"] == ["1990", "1991", "1992", "1993", "1994"]
    assert times["values"] == [1990, 1991, 1992, 1993, 1994]
    check(times, expected(model, corpus, np.asarray(corpus.times).tolist()))
    assert sum(times["docs"]) == corpus.n_docs - 1  # one is empty
    (groups,) = core["groups"]
    assert groups["labels"] == ["left", "right"]
    assert corpus.groups is not None
    check(groups, expected(model, corpus, list(corpus.groups)))
    assert core["level"] == 0.9
    assert "90% intervals: a Bayesian bootstrap over documents" in core["intervals_about"]


def test_shares_of_topics_have_intervals(core: dict[str, Any], model: Any, corpus: topicloom.Corpus) -> None:
    filled = corpus.doc_lengths > 0
    alpha = model.chains_[model.best_chain_].prior.alpha[0]
    lengths = corpus.doc_lengths[filled].astype(float)
    found = label_prevalence(
        model.doc_topic_[filled], np.zeros(len(lengths), int), lengths + alpha.sum(), weights=lengths
    )
    for k, topic in enumerate(core["topics"]):
        assert topic["interval"] == pytest.approx([found.lower[0, k], found.upper[0, k]], rel=1e-3)
        assert topic["interval"][0] < topic["share"] < topic["interval"][1]
        assert topic["share"] == pytest.approx(found.mean[0, k], rel=1e-3)


def test_kept_draws_are_in_the_intervals(model: Any, corpus: topicloom.Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    draws = rng.dirichlet(np.full(4, 0.5), (2, 6, corpus.n_docs)).astype(np.float32)
    monkeypatch.setattr(type(model), "draws_", {"theta": draws}, raising=False)
    source = read_model(model)
    alpha = source.prior.alpha[0]
    best = draws[model.best_chain_].astype(float)
    own = label_prevalence(
        list(best / best.sum(axis=2, keepdims=True)),
        [None if d == 7 else d % 2 for d in range(80)], corpus.doc_lengths + alpha.sum(), base=alpha,
    )  # fmt: skip
    found = covariates.prevalence(source, [d % 2 for d in range(80)], 0.9)
    for name in ("mean", "lower", "upper"):
        assert getattr(found, name) == pytest.approx(getattr(own, name))
    assert "6 kept draws" in str(covariates.about_intervals(source, 0.9))


def periods(source: Source, times: Any) -> Any:
    corpus = source.corpus
    assert corpus is not None
    return covariates.times(replace(source, corpus=corpus.with_metadata(times=times)), 0.9)


def test_periods_are_as_fine_as_a_page_can_show(source: Source) -> None:
    n = 80
    days = np.datetime64("2020-01-01") + np.arange(n)
    assert periods(source, days)["name"] == "day"
    decades = periods(source, np.datetime64("1600-07-05") + 3660 * np.arange(n))
    assert decades["name"] == "year"
    assert decades["labels"][:2] == ["1600", "1610"]
    months = periods(source, np.datetime64("1990-01") + np.arange(n))
    assert (months["name"], months["labels"][0]) == ("month", "1990-01")
    assert months["values"][11] == pytest.approx(1991, abs=0.01)  # a document without words does not count
    wide = periods(source, np.arange(n) * 1000)
    assert wide["labels"][0] == "0"
    many = periods(source, np.linspace(0.0, 10.0, n))
    assert many["labels"][0] == "0–0.1"
    assert sum(many["docs"]) == n - 1
    assert periods(source, [2000] * n) is None


def test_many_groups_become_others(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covariates, "_MOST_GROUPS", 3)
    assert source.corpus is not None
    groups = [f"g{min(d % 8, 5)}" for d in range(80)]
    (found,) = covariates.groups(replace(source, corpus=source.corpus.with_metadata(groups=groups)), 0.9) or []
    assert found["labels"] == ["(others)", "g0", "g1", "g5"]
    assert sum(found["docs"]) == 79


def test_labels_of_documents_are_groups(source: Source, model: Any) -> None:
    assert source.corpus is not None
    labels = [["a", "b"] if d % 2 else ["a"] for d in range(80)]
    own = replace(source, corpus=replace(source.corpus, groups=None, labels=labels))
    (found,) = covariates.groups(own, 0.9) or []
    assert found["labels"] == ["a", "b"]
    assert found["docs"] == [79, 39]  # document 7 is empty
    odd = model.doc_topic_[[d for d in range(80) if d % 2 and d != 7]]
    alpha = model.chains_[model.best_chain_].prior.alpha[0]
    mean = (odd.sum(axis=0) + alpha / alpha.sum()) / (len(odd) + 1)
    assert [row[1][0] for row in found["topics"]] == pytest.approx(mean, rel=1e-3)
