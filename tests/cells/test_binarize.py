"""Topics cut to sets: Otsu's threshold against a naive search, the highest, scores, tables."""

import numpy as np
import pytest

from topicloom import LDA, cells
from topicloom.datasets import synthetic_cells
from topicloom.errors import InputError


@pytest.fixture(scope="module")
def model() -> LDA:
    data = synthetic_cells(80, 60, 3, fragments_per_cell=25.0, seed=4)
    return LDA(3, max_iter=5, random_state=0).fit(data.corpus)


def naive_otsu(values: np.ndarray) -> float:
    """The cut with the least sum of squares within the two classes, by trying every value."""
    best, found = np.inf, values.max()
    for cut in np.unique(values)[:-1]:
        low, high = values[values <= cut], values[values > cut]
        within = ((low - low.mean()) ** 2).sum() + ((high - high.mean()) ** 2).sum()
        if within < best * (1 - 1e-9):
            best, found = within, cut
    return float(found)


def test_otsus_threshold_is_the_best_of_all_cuts() -> None:
    rng = np.random.default_rng(0)
    for n in (2, 3, 10, 200):
        for draw in (rng.normal, rng.standard_cauchy, rng.exponential, lambda size: rng.integers(0, 4, size)):
            values = np.asarray(draw(size=n), float)
            assert cells.otsu_threshold(values) == naive_otsu(values)
            scaled = cells.otsu_threshold(values * 2.0**-40)  # scale changes nothing
            assert scaled == naive_otsu(values) * 2.0**-40
    assert cells.otsu_threshold([3.0, 3.0]) == 3.0
    for wrong in ([], [np.nan], ["a"]):
        with pytest.raises(InputError, match="values"):
            cells.otsu_threshold(wrong)


def test_features_of_topics(model: LDA) -> None:
    phi = model.topic_word_
    logs = np.log(phi)
    score = (phi * (logs - logs.mean(axis=0))).T
    sets = cells.feature_sets(model)
    np.testing.assert_allclose(sets.scores, score, rtol=1e-12)
    for k in range(3):
        np.testing.assert_array_equal(sets.chosen[:, k], sets.scores[:, k] > naive_otsu(sets.scores[:, k]))
    plain = cells.feature_sets(model, "top", n_top=7, smooth=False)
    for k in range(3):
        best = np.argsort(-phi[k], kind="stable")[:7]
        assert plain.members(k) == [model.vocabulary_[v] for v in best]
        assert plain.thresholds[k] == phi[k, best[-1]]
    assert cells.feature_sets(model, "top").chosen.all()  # fewer than n_top


def test_cells_of_topics_and_tables(model: LDA) -> None:
    sets = cells.cell_sets(model, "top", n_top=4)
    np.testing.assert_array_equal(sets.scores, model.doc_topic_)
    assert sets.chosen.sum(axis=0).tolist() == [4, 4, 4]
    model.set_topic_names({1: "blood"})
    try:
        sets = cells.cell_sets(model, "top", n_top=2)
        frame = sets.to_frame("pandas")
        assert list(frame.columns) == ["topic", "name", "rank", "cell", "score"]
        assert frame["name"].tolist() == ["topic_0"] * 2 + ["blood"] * 2 + ["topic_2"] * 2
        assert frame["rank"].tolist() == [1, 2] * 3
        assert sets.to_dict()["blood"] == frame["cell"][2:4].tolist()
        assert frame["score"].tolist() == [row[-1] for row in sets.rows()]
    finally:
        model.set_topic_names({1: None})


def test_what_cannot_be_cut_is_refused(model: LDA) -> None:
    for call, message in (
        (lambda: cells.feature_sets(model, "yen"), "method='yen' is not known; choose one of 'otsu', 'top'"),
        (lambda: cells.feature_sets(model, n_top=0), "n_top=0 must be a whole number"),
        (lambda: cells.feature_sets(model, smooth=2), "smooth=2 must be True or False"),
        (lambda: cells.cell_sets(model.topic_word_), "expected a fitted model with topics"),
        (lambda: cells.feature_sets(LDA()), "expected a fitted model with topics"),
    ):
        with pytest.raises(InputError, match=message):
            call()
