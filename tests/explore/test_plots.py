"""Plots of topics: what is drawn is what the model says, and it can be read."""

import builtins
from typing import Any

import numpy as np
import pytest

from topicloom import HMM, LDA, CompoundLDA, LabeledLDA, MedLDAClassifier
from topicloom.diagnostics.word_lists import topic_words
from topicloom.errors import InputError, MissingExtraError
from topicloom.evaluation import topic_map, topic_sizes
from topicloom.explore import plots
from topicloom.explore.plot_document import word_topics


def texts_of(labels: Any) -> list[str]:
    return [label.get_text() for label in labels]


def overlaps(artists: list[Any]) -> list[tuple[int, int]]:
    """Pairs of texts whose boxes overlap."""
    boxes = [artist.get_window_extent() for artist in artists]
    return [(i, j) for i, a in enumerate(boxes) for j, b in enumerate(boxes[:i]) if a.overlaps(b)]


# -- topics ------------------------------------------------------------------------------------------------------


def test_labels(lda: LDA, hmm: HMM) -> None:
    words = topic_words(lda, 3, "relevance")
    assert plots.labels(lda) == [f"{k}: {' '.join(words[k])}" for k in range(3)]
    lda.set_topic_names({1: "sport"})
    try:
        assert plots.labels(lda, 2) == [f"0: {' '.join(words[0][:2])}", "1: sport", f"2: {' '.join(words[2][:2])}"]
    finally:
        lda.set_topic_names({1: None})
    assert plots.labels(hmm, 1)[1] == f"1: {hmm.topic_labels(1)[1]}"
    with pytest.raises(InputError, match="3 has no topics; give a fitted model"):
        plots.labels(3)


def test_labels_of_labels() -> None:
    model = LabeledLDA(max_iter=3, burn_in=1, random_state=0).fit(["sun moon", "moon bank"] * 4, [["x"], ["y"]] * 4)
    assert plots.labels(model) == ["x", "y"]


def test_topics(plt: Any, lda: LDA) -> None:
    figure = plots.topics(lda, [2, 0], n_words=4, columns=1)
    shares = topic_sizes(lda.doc_topic_, lda.corpus_.doc_lengths)
    for ax, k in zip(figure.axes, (2, 0), strict=True):
        assert " ".join(ax.get_title(loc="left").split()) == f"{plots.labels(lda)[k]} ({shares[k]:.1%})"
        assert texts_of(ax.get_yticklabels()) == lda.top_words(4)[k]
        np.testing.assert_allclose(
            [bar.get_width() for bar in ax.patches], np.sort(lda.topic_word_[k])[::-1][:4], rtol=1e-12
        )
    ax = plt.figure().subplots()
    assert plots.topic(lda, 1, n_words=3, by="relevance", ax=ax) is ax
    assert texts_of(ax.get_yticklabels()) == topic_words(lda, 3, "relevance")[1]


def test_map(plt: Any, lda: LDA) -> None:
    ax = plots.topic_map(lda)
    found, shares = topic_map(lda.topic_word_), topic_sizes(lda.doc_topic_, lda.corpus_.doc_lengths)
    (circles,) = ax.collections
    order = np.argsort(-shares, kind="stable")
    np.testing.assert_allclose(circles.get_offsets(), found.places[order])
    area = circles.get_sizes()
    np.testing.assert_allclose(area / area.sum(), shares[order] / shares.sum())
    key, *numbers = sorted(texts_of(ax.texts), key=len, reverse=True)
    assert key.splitlines() == [f"{name} ({shares[k]:.1%})" for k, name in enumerate(plots.labels(lda))]
    assert sorted(numbers) == ["0", "1", "2"]
    assert f"{found.explained[0]:.0%}" in ax.get_xlabel()
    assert plots.topic_map(lda, [1], ax=ax) is ax
    assert len(ax.texts[4].get_text().splitlines()) == 1


def test_numbers_of_near_topics_do_not_overlap(plt: Any, lda: LDA) -> None:
    from topicloom.explore.plot_topics import _write_numbers

    ax = plt.figure(figsize=(6, 5)).subplots()
    ax.set(xlim=(-1, 1), ylim=(-1, 1))
    places = np.concatenate([np.zeros((3, 2)), np.random.default_rng(0).uniform(-0.9, 0.9, (20, 2))])
    _write_numbers(ax, places, np.full(23, 6.0))
    ax.figure.draw_without_rendering()
    assert sorted(texts_of(ax.texts), key=int) == [str(k) for k in range(23)]
    assert overlaps(ax.texts) == []


def test_tree(plt: Any, lda: LDA) -> None:
    ax = plots.topic_tree(lda)
    shares = topic_sizes(lda.doc_topic_, lda.corpus_.doc_lengths)
    leaves = texts_of(ax.get_yticklabels())
    assert sorted(leaves) == [f"{name} ({shares[k]:.1%})" for k, name in enumerate(plots.labels(lda))]
    # The two that are joined first are the nearest, and stand side by side.
    rows = np.array([[0.9, 0.1, 0.0], [0.0, 0.1, 0.9], [0.8, 0.2, 0.0], [0.0, 0.5, 0.5]])
    ax = plt.figure().subplots()
    assert plots.draw_tree(rows, labels=["a", "b", "c", "d"], metric="euclidean", ax=ax) is ax
    leaves = texts_of(ax.get_yticklabels())
    assert {frozenset(leaves[:2]), frozenset(leaves[2:])} == {frozenset("ac"), frozenset("bd")}
    for wrong, message in (
        ({"labels": ["a"]}, "labels has 1 entry for 4 topics"),
        ({"shares": [1, 2]}, "for each of 4 topics"),
        ({"shares": [0, 0, 0, 0]}, "not all 0"),
    ):
        with pytest.raises(InputError, match=message):
            plots.draw_tree(rows, **wrong)


def test_document(plt: Any, lda: LDA) -> None:
    ax = plots.document(lda, 4, n_topics=2)
    start, end = lda.corpus_.doc_ptr[4:6]
    words = lda.corpus_.words[start:end]
    assert texts_of(ax.texts) == [lda.vocabulary_[v] for v in words]
    theta = lda.doc_topic_[4]
    largest = np.argsort(-theta)[:2]
    (bars,) = ax.child_axes
    np.testing.assert_allclose([bar.get_width() for bar in bars.patches], theta[largest])
    assert texts_of(bars.texts) == [f"{plots.labels(lda)[k]} ({theta[k]:.0%})" for k in largest]
    colors = {int(k): bar.get_facecolor()[:3] for k, bar in zip(largest, bars.patches, strict=True)}
    best = (lda.topic_word_[:, words] * theta[:, None]).argmax(axis=0)
    for text, k in zip(ax.texts, best, strict=True):
        patch = text.get_bbox_patch()
        assert (None if patch is None else patch.get_facecolor()[:3]) == colors.get(int(k))
    ax.figure.draw_without_rendering()
    assert overlaps(ax.texts) == []
    assert ax.get_title(loc="left") == "document 4 (text4)"


def test_document_of_new_and_unordered_words(plt: Any, lda: LDA) -> None:
    ax = plt.figure(figsize=(4, 2)).subplots()
    assert plots.document(lda, 1, ["goal", "vote law vote"], ax=ax) is ax
    assert texts_of(ax.texts) == ["vote", "law", "vote"]
    counts = np.zeros((1, len(lda.vocabulary_)), int)
    counts[0, lda.vocabulary_.index("atom")], counts[0, lda.vocabulary_.index("quark")] = 1, 3
    assert texts_of(plots.document(lda, 0, counts).texts) == ["quark ×3", "atom"]
    assert texts_of(plots.document(lda, 0, n_words=3).texts)[-1] == "…"
    small = plt.figure(figsize=(2.5, 1)).subplots()
    plots.document(lda, 0, ax=small)
    assert texts_of(small.texts)[-1] == "…"
    assert len(small.texts) < 12
    for wrong in (-1, 48, 1.5, True):
        with pytest.raises(InputError, match="does not exist; they are numbered 0 to 47"):
            plots.document(lda, wrong)
    with pytest.raises(InputError, match="from 1 to 7"):
        plots.document(lda, 0, n_topics=8)


def test_word_topics() -> None:
    best, share = word_topics(np.array([[0.8, 0.1], [0.1, 0.3]]), np.array([0.25, 0.75]))
    assert best.tolist() == [0, 1]
    np.testing.assert_allclose(share, [0.2 / 0.275, 0.225 / 0.25])


# -- families ----------------------------------------------------------------------------------------------------


def test_hmm(plt: Any, hmm: HMM) -> None:
    ax = plots.transitions(hmm)
    np.testing.assert_array_equal(ax.images[0].get_array(), hmm.transition_)
    assert texts_of(ax.texts) == [f"{p:.2f}" for p in hmm.transition_.ravel()]
    assert texts_of(ax.get_yticklabels())[0].startswith("0: ")
    assert texts_of(plots.transitions(hmm, states=["one", "two"]).get_xticklabels()) == ["one", "two"]
    figure = plots.emissions(hmm, n_symbols=2)
    order = np.argsort(-hmm.emission_[1])[:2]
    assert texts_of(figure.axes[1].get_yticklabels()) == [hmm.alphabet_[v] for v in order]
    np.testing.assert_allclose([bar.get_width() for bar in figure.axes[1].patches], hmm.emission_[1, order])
    # In the long run: π = πT.
    share = hmm.transition_[1, 0] / (hmm.transition_[0, 1] + hmm.transition_[1, 0])
    assert figure.axes[0].get_title(loc="left") == f"state 0 ({share:.0%} of the time)"
    ax = plt.figure().subplots()
    assert plots.transition_graph(hmm, least=0.0, ax=ax) is ax
    arrows = [text for text in ax.texts if text.arrow_patch is not None]
    assert len(arrows) == 2
    widths = [arrow.arrow_patch.get_linewidth() for arrow in arrows]
    np.testing.assert_allclose(widths, 0.6 + 5 * hmm.transition_[[0, 1], [1, 0]])
    assert any(text.endswith(f"stays {hmm.transition_[1, 1]:.0%}") for text in texts_of(ax.texts))


def test_classes(plt: Any, medlda: MedLDAClassifier) -> None:
    ax = plots.classes(medlda, [2, 0])
    np.testing.assert_allclose(ax.images[0].get_array(), medlda.coef_[:, [2, 0]].T)
    assert texts_of(ax.get_xticklabels()) == medlda.classes_.tolist()
    assert texts_of(ax.get_yticklabels()) == [plots.labels(medlda, 4)[k] for k in (2, 0)]
    everything = np.asarray(plots.classes(medlda).images[0].get_array())
    assert {tuple(row) for row in everything} == {tuple(row) for row in medlda.coef_.T}
    assert plots.classes(medlda, ax=ax) is ax


def test_simplex(plt: Any) -> None:
    draws = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    ax = plots.simplex(draws, truth=[0.0, 0.0, 1.0])
    points, truth = ax.collections
    np.testing.assert_allclose(points.get_offsets(), [[0, 0], [1, 0], [0.5, 0.75**0.5 / 3]])
    np.testing.assert_allclose(truth.get_offsets(), [[0.5, 0.75**0.5]])


# -- refusals ----------------------------------------------------------------------------------------------------


def test_what_cannot_be_drawn_is_refused(plt: Any, lda: LDA, hmm: HMM, compound: CompoundLDA, dated: Any) -> None:
    ovr = MedLDAClassifier(2, multi_class="ovr", max_iter=2, burn_in=1, random_state=0)
    cases: list[tuple[Any, str]] = [
        (lambda: plots.topics(lda, [3]), "must name some of the topics 0 to 2"),
        (lambda: plots.topics(lda, "ab"), "must be a list of topic numbers"),
        (lambda: plots.topics(lda, columns=0), "columns=0 must be a whole number"),
        (lambda: plots.topics(hmm), "HMM has no topics"),
        (lambda: plots.transitions(lda), "LDA has no transitions; give a fitted HMM"),
        (lambda: plots.transitions(hmm, states=["a"]), "states has 1 entry for 2 states"),
        (lambda: plots.classes(lda), "LDA has no weights of topics"),
        (lambda: plots.classes(ovr.fit(dated, ["a", "b", "c"] * 16)), "each class has topics of its own"),
        (lambda: plots.draw_weights([1.0], ["a"], ["b"]), r"weights has shape \(1,\)"),
        (lambda: plots.simplex(np.ones((4, 2))), "sweeps × 3 topics"),
    ]
    for call, message in cases:
        with pytest.raises(InputError, match=message):
            call()


def test_plots_name_the_extra_that_they_need(monkeypatch: pytest.MonkeyPatch, lda: LDA) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    for draw in (plots.topics, plots.topic_map, plots.topic_tree, plots.document, plots.over_time, plots.convergence):
        with pytest.raises(MissingExtraError, match=r"pip install 'topicloom\[plot\]'"):
            draw(lda)
