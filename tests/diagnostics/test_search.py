"""The search over numbers of topics: what it finds, that nothing but its numbers decides, resuming, refusals."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from tests.helpers.tasks import ShuffledTasks
from topicloom.corpus import Corpus
from topicloom.corpus._executors import using
from topicloom.datasets import synthetic_lda
from topicloom.diagnostics import TopicSearch, search, search_rounds, search_tasks, search_topics
from topicloom.diagnostics.search_rounds import LEAST_SWEEPS
from topicloom.diagnostics.search_tasks import MEASURES, make_folds, run_task, task_seed
from topicloom.errors import InputError, StorageError

CORPUS = synthetic_lda(n_docs=240, n_words=60, n_topics=4, doc_length=30.0, seed=1).corpus
QUICK: dict[str, Any] = {
    "n_chains": 2, "max_iter": 130, "random_state": 3, "left_to_right_docs": 10, "n_particles": 3, "test_share": 0.3,
}  # fmt: skip
SHORT: dict[str, Any] = {**QUICK, "max_iter": 8}
FIXED = {"doc_topic_prior": 0.1, "topic_word_prior": 0.05}  # learned ones would switch superfluous topics off


def quick(n_topics: Any = (1, 2, 4, 6, 12), **options: Any) -> TopicSearch:
    return search_topics(CORPUS, n_topics, **{**QUICK, **FIXED, **options})


def same(one: TopicSearch, other: TopicSearch) -> None:
    """Every field, bit for bit."""
    for field in fields(TopicSearch):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, dict):
            assert a.keys() == b.keys()
            for name in a:
                np.testing.assert_array_equal(a[name], b[name], err_msg=name)
        else:
            np.testing.assert_array_equal(a, b, err_msg=field.name)


@pytest.fixture(scope="module")
def straight() -> TopicSearch:
    return quick()


# -- what it finds -------------------------------------------------------------------------------------------


def test_a_clear_case(straight: TopicSearch) -> None:
    assert straight.recommended == (4, 4)
    assert straight.cannot_tell_apart == (4,)
    assert 4 not in {one.n_topics for one in straight.dropped}
    assert straight.n_docs == 72
    assert straight.text.startswith("Recommended: about 4 topics, which predict held-out words best (72 held-out")


def test_halving_drops_the_hopeless_and_says_when_and_why(straight: TopicSearch) -> None:
    assert [one.sweeps for one in straight.rounds] == [43, 130]
    (gone,) = (one for one in straight.dropped if one.n_topics == 2)
    assert (gone.round, gone.sweeps, gone.n_chains, gone.leader) == (1, 43, 2, 4)
    assert gone.difference + gone.credit < -4 * gone.error
    row = straight.rows()[1]
    assert (row["n_topics"], row["dropped"]) == (2, 1)
    assert np.isnan(row["completion"])
    assert "Dropped early, as hopeless: 1 and 2." in straight.text


def test_without_halving_all_numbers_have_all_measures() -> None:
    found = quick([2, 4, 12], halving=False, max_iter=60)
    assert found.dropped == ()
    assert len(found.rounds) == 1
    for name in MEASURES:
        if name not in ("dispersion", "singular_divergence"):  # too few cells; topics that coincide
            assert np.isfinite(found.measures[name]).all(), name
    assert ((found.measures["stability"] >= 0) & (found.measures["stability"] <= 1)).all()
    assert found.choices()["completion"] == 4
    assert np.argmax(found.left_to_right) == 1
    together = found.completion_se_documents**2 + found.completion_se_chains**2
    np.testing.assert_allclose(found.completion_se**2, together, rtol=1e-12)
    assert np.all(found.difference_se[[0, 2]] > 0)
    # Pairing pays: differences are known better than scores.
    assert found.difference_se[0] < np.hypot(found.completion_se[0], found.completion_se[1])


def test_chains_that_go_on_equal_chains_that_have_all_sweeps_at_once(straight: TopicSearch) -> None:
    left = [k for k in straight.n_topics.tolist() if k not in {one.n_topics for one in straight.dropped}]
    at_once = quick(left, halving=False)
    where = np.isin(straight.n_topics, left)
    np.testing.assert_array_equal(straight.completion[where], at_once.completion)
    np.testing.assert_array_equal(straight.measures["harmonic_mean"][where], at_once.measures["harmonic_mean"])


def test_chains_start_with_more_topics_unless_told_otherwise() -> None:
    default = quick([4], max_iter=20, halving=False)
    same(quick([4], max_iter=20, halving=False, sampler_options={"start_sweeps": 10}), default)
    at_random = quick([4], max_iter=20, halving=False, sampler_options={"start_sweeps": 0})
    assert at_random.completion[0] != default.completion[0]


def test_learned_priors_leave_topics_unused() -> None:
    short = {"halving": False, "max_iter": 60}
    learned = quick([20], doc_topic_prior=None, topic_word_prior=None, **short).measures["topics_in_use"][0]
    fixed = quick([20], **short).measures["topics_in_use"][0]
    assert 4 < learned < fixed <= 20
    assert "topics_in_use" not in quick([2], **short).choices()


def test_folds_score_every_document_once() -> None:
    found = search_topics(CORPUS, [3], folds=3, **SHORT)
    assert found.n_docs == np.count_nonzero(CORPUS.doc_lengths >= 2)
    parts = make_folds(CORPUS, 3, 0.2, 3)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.flatnonzero(CORPUS.doc_lengths >= 2))


def test_one_number_and_one_topic() -> None:
    found = search_topics(CORPUS, [1], **SHORT)
    assert found.recommended == (1, 1)
    assert "largest" not in found.text
    assert np.isnan(found.measures["mean_cosine"]).all()


def test_what_cannot_be_told_is_said() -> None:
    noise = np.random.default_rng(0).integers(0, 50, 2000)
    corpus = Corpus(noise, np.arange(0, 2001, 20), tuple(f"w{v}" for v in range(50)))
    found = search_topics(corpus, [2, 3], **{**SHORT, "n_chains": 1})
    assert "is the largest number searched" in found.text or "is the smallest number searched" in found.text
    assert "With one chain the noise of chains is not known" in found.text
    assert np.isnan(found.completion_se_chains).all()
    assert np.isnan(found.measures["stability"]).all()


def test_priors_are_handed_on() -> None:
    given = search_topics(CORPUS, [3], doc_topic_prior=5.0, topic_word_prior=1.0, burn_in=6, **SHORT)
    learned = search_topics(CORPUS, [3], **SHORT)
    assert given.completion[0] != learned.completion[0]


# -- nothing but its numbers decides -------------------------------------------------------------------------


def test_any_number_of_jobs_and_any_backend(straight: TopicSearch) -> None:
    same(quick(n_jobs=2), straight)
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            same(quick(), straight)


def test_fits_are_tasks_of_an_executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_rounds, "LEAST_SWEEPS", 4)  # rounds, whose chains go on
    how = {**SHORT, **FIXED, "max_iter": 16}
    alone, executor = search_topics(CORPUS, [2, 4, 9], **how), ShuffledTasks()
    with using(executor):
        same(search_topics(CORPUS, [2, 4, 9], **how, verbose=1, checkpoint_dir=tmp_path), alone)
        assert executor.sent == len(alone.rounds)
        monkeypatch.setattr(search_tasks, "_fit_and_measure", None)
        same(search_topics(CORPUS, [2, 4, 9], **how, checkpoint_dir=tmp_path), alone)


def test_the_order_and_the_other_numbers_do_not_matter() -> None:
    some = search_topics(CORPUS, [5, 3], **SHORT)
    assert some.n_topics.tolist() == [3, 5]
    alone = search_topics(CORPUS, [3], **SHORT)
    assert alone.completion[0] == some.completion[0]
    assert alone.measures["harmonic_mean"][0] == some.measures["harmonic_mean"][0]


def test_seeds_differ() -> None:
    paths = [(k, chain, fold) for k in range(1, 6) for chain in range(5) for fold in range(5)]
    assert len({task_seed(0, 1, *path) for path in paths} | {task_seed(1, 1, *path) for path in paths}) == 2 * 125


# -- resuming ------------------------------------------------------------------------------------------------


def test_an_interrupted_search_resumes_exactly(
    straight: TopicSearch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [7]

    def interrupted(*given: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return run_task(*given)

    monkeypatch.setattr(search, "run_task", interrupted)
    folder = tmp_path / "new" / "search"
    with pytest.raises(KeyboardInterrupt):
        quick(checkpoint_dir=folder)
    assert len(list(folder.iterdir())) == 7
    monkeypatch.undo()
    fits: list[object] = []
    really = search_tasks._fit_and_measure

    def counted(setting: Any, task: Any, begun: Any) -> Any:
        fits.append(task)
        return really(setting, task, begun)

    monkeypatch.setattr(search_tasks, "_fit_and_measure", counted)
    same(quick(checkpoint_dir=folder), straight)
    n_files = len(list(folder.iterdir()))
    assert len(fits) == n_files - 7
    fits.clear()
    same(quick(checkpoint_dir=str(folder)), straight)
    assert fits == []


def test_other_searches_use_nothing_of_it(tmp_path: Path) -> None:
    search_topics(CORPUS, [3], checkpoint_dir=tmp_path, **SHORT)
    n_files = len(list(tmp_path.iterdir()))
    others: list[dict[str, Any]] = [{"random_state": 4}, {"topic_word_prior": 0.2}, {"max_iter": 9}, {"n_words": 5}]
    for i, other in enumerate(others, 2):
        search_topics(CORPUS, [3], checkpoint_dir=tmp_path, **{**SHORT, **other})
        assert len(list(tmp_path.iterdir())) == i * n_files
    search_topics(CORPUS.select(np.arange(200)), [3], checkpoint_dir=tmp_path, **SHORT)
    assert len(list(tmp_path.iterdir())) == (len(others) + 2) * n_files


def test_a_damaged_file_is_computed_again(tmp_path: Path) -> None:
    first = search_topics(CORPUS, [3], checkpoint_dir=tmp_path, **SHORT)
    path = sorted(tmp_path.iterdir())[0]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.warns(UserWarning, match="is damaged; what it held is computed again"):
        again = search_topics(CORPUS, [3], checkpoint_dir=tmp_path, **SHORT)
    same(again, first)
    same(search_topics(CORPUS, [3], checkpoint_dir=tmp_path, **SHORT), first)


# -- tables, files, pictures ---------------------------------------------------------------------------------


def test_tables_and_json(straight: TopicSearch, tmp_path: Path) -> None:
    rows = straight.rows()
    assert [row["n_topics"] for row in rows] == [1, 2, 4, 6, 12]
    assert list(straight.to_frame("pandas").columns) == list(rows[0])
    assert straight.to_frame("polars").shape == (5, len(rows[0]))
    straight.to_json(tmp_path / "search.json")
    read = json.loads((tmp_path / "search.json").read_text())
    assert read["recommended"] == [4, 4]
    assert read["rows"][0]["completion"] is None
    assert read["rows"][2]["completion"] == straight.completion[2]
    assert read["text"] == str(straight)
    assert read["dropped"][0]["n_topics"] == straight.dropped[0].n_topics
    assert repr(straight) == "TopicSearch(5 numbers of topics, recommended 4 to 4)"


def test_the_cost_is_told_before_it_starts(capsys: pytest.CaptureFixture[str]) -> None:
    search_topics(CORPUS, [2, 3], verbose=1, **SHORT)
    first, *others = capsys.readouterr().err.splitlines()
    assert first.startswith("search_topics: at most 4 fits, ")
    assert "seconds" in first
    assert others == ["search_topics: last round: 2, 3 topics"]


# -- refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        {"n_topics": []}, {"n_topics": [0]}, {"n_topics": [2, 2]}, {"n_topics": 5}, {"n_topics": "5"},
        {"n_topics": [2.5]}, {"n_topics": {2, 3}}, {"n_chains": 0}, {"folds": 0}, {"folds": 200}, {"test_share": 0},
        {"test_share": 1.0}, {"test_share": 0.001}, {"max_iter": 0}, {"tell_apart": 0.5}, {"n_words": 0},
        {"n_particles": 0}, {"left_to_right_docs": 1}, {"halving": "yes"}, {"verbose": "yes"}, {"n_jobs": 0},
        {"n_jobs": "two"}, {"random_state": "x"}, {"checkpoint_dir": 5}, {"checkpoint_dir": "x", "random_state": None},
        {"n_components": 5}, {"seed_words": {0: ["a"]}}, {"n_paths": 2}, {"topics": 5}, {"doc_topic_prior": [1.0, 2.0]},
        {"doc_topic_prior": -1.0}, {"topic_word_prior": "x"}, {"sampler": "none"}, {"burn_in": 1000},
        {"corpus": "texts"}, {"corpus": None},
    ],
)  # fmt: skip
def test_hostile_input_is_refused(bad: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given: dict[str, Any] = {"corpus": CORPUS, "n_topics": [2, 3], **SHORT, **bad}
    with pytest.raises(InputError):
        search_topics(given.pop("corpus"), given.pop("n_topics"), **given)
    assert list(tmp_path.iterdir()) == []


def test_corpora_that_cannot_be_searched_are_refused() -> None:
    words = ("a", "b")
    for corpus in (
        Corpus(np.array([0, 1]), np.array([0, 1, 2]), words),  # no document has two halves
        Corpus(np.zeros(0, np.int32), np.zeros(4, np.int64), words),
        Corpus(np.array([0, 1, 0, 1]), np.array([0, 2, 4]), words, weights=np.full(4, 0.5)),
    ):
        with pytest.raises(InputError):
            search_topics(corpus, [2], **SHORT)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError):
        search_topics(CORPUS, [2], checkpoint_dir=tmp_path / "file" / "folder", **SHORT)


def test_first_looks_are_long_enough_to_learn_priors() -> None:
    assert all(one.sweeps // 2 >= LEAST_SWEEPS for one in search_rounds.plan_rounds(500, 4, [np.arange(100)], True))
