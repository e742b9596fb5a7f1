"""Documents that do not depend on each other, by tasks of an executor: the same bits as in one process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicloom
from tests.helpers.small_models import _make
from tests.helpers.tasks import ShuffledTasks
from topicloom import LDA, Corpus, from_texts
from topicloom.corpus._executors import using
from topicloom.corpus.stored import load_corpus, save_corpus
from topicloom.engine import document_tasks, shards
from topicloom.errors import InputError, StorageError
from topicloom.evaluation.predictive import completion_perplexities
from topicloom.evaluation.sequential import left_to_right

MODELS = (
    "lda auto", "variational vb", "variational cvb_exact", "variational scvb0", "labels labeled", "labels cvb0",
    "labels prior", "labels dependency", "medlda binary", "medlda numbers", "compound ags", "compound vem",
)  # fmt: skip


@pytest.fixture(autouse=True)
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_tasks, "_LEAST", 5)


def new_documents(model: Any, n: int = 30) -> Corpus:
    rng, words = np.random.default_rng(1), model.vocabulary_
    texts = [" ".join(words[v] for v in rng.integers(0, len(words), rng.integers(0, 9))) for _ in range(n)]
    return from_texts(texts, vocabulary=words).with_metadata(groups=[2001 + d % 3 for d in range(n)])


def asked(model: Any, new: Corpus) -> list[Any]:
    said = [model.transform(new), np.array(model.perplexity(new))]
    for name in ("predict", "predict_proba", "decision_function"):
        said += [getattr(model, name)(new)] if hasattr(model, name) else []
    return said


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_model_says_the_same_of_new_documents(name: str, tmp_path: Path) -> None:
    make, data = _make(name)
    model = make().fit(*data)
    new = new_documents(model)
    expected = asked(model, new)
    for n_workers in (1, 3):
        executor = ShuffledTasks(n_workers)
        with using(executor):
            found = asked(model, new)
        assert executor.n_done > 5
        for own, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(own, other)


def test_evaluation_is_the_same() -> None:
    model = LDA(3, max_iter=5, random_state=0).fit(_make("lda auto")[1][0])
    new = new_documents(model)
    phi, alpha = model.topic_word_, model.alpha_
    asks: list[Callable[[], Any]] = [
        lambda: left_to_right(phi, alpha, new, n_particles=5, seed=3),
        lambda: list(completion_perplexities(phi, phi, alpha, new).values()),
    ]
    for ask in asks:
        expected, executor = ask(), ShuffledTasks()
        with using(executor):
            found = ask()
        assert executor.n_done > 3
        np.testing.assert_array_equal(found, expected)


def written(model: Any, source: Path, target: Path, **how: Any) -> tuple[bytes, Any]:
    heard: list[Any] = []
    done = model.transform_file(source, target, chunk_size=4, callback=heard.append, **how)
    return target.read_bytes(), [each[:4] for each in (*heard, done)]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("ending", ["csv", "npy", "jsonl", "parquet"])
def test_files_of_shares_have_the_same_bytes(ending: str, tmp_path: Path) -> None:
    model = LDA(3, max_iter=5, random_state=0).fit(_texts())
    source, target = tmp_path / "new.txt", tmp_path / f"shares.{ending}"
    source.write_text("\n".join(["goal team river", "law vote", "", "atom"] * 7))
    expected, executor = written(model, source, target), ShuffledTasks(2)
    with using(executor):
        assert written(model, source, target) == expected
    assert executor.sent == 1
    assert executor.n_done > 6


def _texts() -> list[str]:
    return ["goal match team goal coach", "vote law party vote", "atom quark field atom", "team coach match"] * 3


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_collections_and_lists_of_words(tmp_path: Path) -> None:
    """A model of collections reads the groups of a file, and one of lists of words reads lists."""
    source, target = tmp_path / "new.jsonl", tmp_path / "shares.npy"
    source.write_text("".join(f'{{"text": ["goal", "law"], "group": {d % 2}}}\n' for d in range(9)))
    corpus = topicloom.read(source, group_column="group")
    model = topicloom.CompoundLDA(2, max_iter=5, random_state=0).fit(corpus)
    expected = written(model, source, target, group_column="group")
    with using(ShuffledTasks()):
        assert written(model, source, target, group_column="group") == expected
    np.testing.assert_array_equal(np.load(target), model.transform(corpus))
    source.write_text('{"text": "goal law"}\n')
    with pytest.raises(InputError, match="came as lists of words"):
        model.transform_file(source, target)


def test_what_is_small_stays_here(monkeypatch: pytest.MonkeyPatch) -> None:
    model = LDA(3, max_iter=5, random_state=0).fit(_make("lda auto")[1][0])
    monkeypatch.undo()
    executor = ShuffledTasks()
    with using(executor):
        model.transform(new_documents(model))
    assert executor.sent == 0


def test_runs_of_a_stored_corpus_are_counted_by_tasks(tmp_path: Path) -> None:
    """Unless a machine does not have its file."""
    rng = np.random.default_rng(2)
    repeated = np.repeat(rng.integers(0, 9, 400), rng.choice([1, 2, 90], 400)).astype(np.int32)
    cuts = np.sort(rng.integers(0, len(repeated), 59))
    corpus = Corpus(repeated, [0, *cuts, len(repeated)], [f"w{v}" for v in range(9)])
    save_corpus(corpus, tmp_path / "c.corpus", mapped=True)
    expected = shards._runs(corpus)
    for n_workers in (1, 3):
        stored, executor = load_corpus(tmp_path / "c.corpus"), ShuffledTasks(n_workers)
        with using(executor):
            found = shards._runs(stored)
        assert executor.n_done >= 4 * n_workers
        for own, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(own, other)
            assert own.dtype == other.dtype

    class Elsewhere(ShuffledTasks):
        def map(self, function: Callable[[Any], Any], tasks: Any) -> Any:
            raise StorageError("c.corpus cannot be read")
            yield

    stored = load_corpus(tmp_path / "c.corpus")
    with using(Elsewhere(2)):
        np.testing.assert_array_equal(shards._runs(stored).word_runs, expected.word_runs)
