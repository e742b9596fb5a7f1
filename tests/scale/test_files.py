"""Files read and documents transformed on Ray, with workers that are killed on the way."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from topicloom import LDA, read, resume
from topicloom.corpus import _file_tasks
from topicloom.corpus.stored import convert_corpus
from topicloom.datasets import bars
from topicloom.diagnostics import search_rounds, search_topics
from topicloom.engine import document_tasks
from topicloom.errors import InputError
from topicloom.scale.session import ray as scale_ray
from topicloom.scale.tasks import RayExecutor

pytestmark = pytest.mark.ray


def some_lines(n: int = 400) -> str:
    words = ("goal match team coach", "vote law party court", "atom quark field energy")
    return "".join(f"{words[d % 3]} w{d % 7}x w{d % 11}y\n" for d in range(n))


def test_files_are_converted_and_transformed_though_workers_are_killed(
    ray_cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, size in {"_BYTES": 3000, "_BYTES_OF_OWN": 3000, "_LARGE": 5000}.items():
        monkeypatch.setattr(_file_tasks, name, size)
    monkeypatch.setattr(document_tasks, "_LEAST", 300)
    source, killed = tmp_path / "texts", tmp_path / "killed"
    source.mkdir()
    (source / "a.txt").write_text(some_lines())
    (source / "b.txt").write_text(some_lines(90))
    expected = convert_corpus(source, tmp_path / "one.corpus", "txt", tokenizer=str.split)

    def dies_once(text: str) -> list[str]:
        if text.startswith("atom") and text.endswith("w1x w2y\n") and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return text.split()

    with scale_ray():
        corpus = convert_corpus(source, tmp_path / "ray.corpus", "txt", tokenizer=dies_once)
    assert killed.exists()
    assert corpus.fingerprint == expected.fingerprint
    assert (tmp_path / "ray.corpus").read_bytes() == (tmp_path / "one.corpus").read_bytes()

    model = LDA(3, max_iter=5, random_state=0).fit(read(source / "b.txt"))
    model.transform_file(source / "a.txt", tmp_path / "one.csv", chunk_size=50)
    shares = model.transform(corpus)
    with scale_ray():
        model.transform_file(source / "a.txt", tmp_path / "ray.csv", chunk_size=50)
        assert (model.transform(corpus) == shares).all()
    assert (tmp_path / "ray.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_tables_are_converted_on_workers_to_the_same_bytes(
    ray_cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    monkeypatch.setattr(_file_tasks, "_BYTES", 3000)
    monkeypatch.setattr(_file_tasks, "_LARGE", 5000)
    rows = [{"key": f"d{d}", "body": text} for d, text in enumerate(some_lines().splitlines())]
    source = tmp_path / "parts"
    source.mkdir()
    for i in range(4):
        part = rows[100 * i : 100 * (i + 1)]
        if format == "jsonl":
            (source / f"{i}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
        else:
            pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed; pip install 'topicloom[parquet]'")
            parquet = pytest.importorskip("pyarrow.parquet")
            parquet.write_table(pa.Table.from_pylist(part), source / f"{i}.parquet", row_group_size=30)
    columns = {"text_column": "body", "id_column": "key"}
    expected, sent = convert_corpus(source, tmp_path / "one.corpus", format, **columns), []
    there = RayExecutor.map
    monkeypatch.setattr(RayExecutor, "map", lambda self, *args: sent.append(args) or there(self, *args))
    with scale_ray():
        corpus = convert_corpus(source, tmp_path / "ray.corpus", format, **columns)
    assert sent
    assert corpus.fingerprint == expected.fingerprint
    assert (tmp_path / "ray.corpus").read_bytes() == (tmp_path / "one.corpus").read_bytes()


@pytest.mark.parametrize("protocol", ["memory", "file"])
def test_checkpoints_of_chains_on_workers_at_an_address(ray_cluster: Any, tmp_path: Path, protocol: str) -> None:
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed; pip install 'topicloom[remote]'")
    address = "memory://of-workers/run" if protocol == "memory" else f"file://{tmp_path}/run"
    corpus, plan = bars(n_docs=60).corpus, {"max_iter": 12, "n_shards": 2, "random_state": 1}

    def end(chain: Any) -> bool:
        return bool(chain.sweep == 7)

    try:
        with scale_ray(n_workers=2):
            LDA(4, checkpoint_dir=address, checkpoint_every=4, **plan).fit(corpus, callbacks=[end])
        file_system, root = fsspec.core.url_to_fs(address)
        assert any("chain-0" in path for path in file_system.ls(root, detail=False))
        with scale_ray(n_workers=1):
            resumed = resume(address, max_iter=12)
        assert resumed.fingerprint_ == LDA(4, **plan).fit(corpus).fingerprint_
    finally:
        if protocol == "memory":
            fsspec.filesystem("memory").rm("/of-workers", recursive=True)


def test_what_cannot_be_sent_is_refused_before_a_file_is_written(
    ray_cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_file_tasks, "_BYTES_OF_OWN", 3000)
    monkeypatch.setattr(_file_tasks, "_LARGE", 5000)
    (tmp_path / "a.txt").write_text(some_lines())
    with (
        (tmp_path / "open").open("w") as file,
        scale_ray(),
        pytest.raises(InputError, match="cannot be sent to Ray's workers"),
    ):
        convert_corpus(tmp_path / "a.txt", tmp_path / "a.corpus", tokenizer=lambda text: [str(file), text])
    assert not (tmp_path / "a.corpus").exists()


def test_chains_and_numbers_of_topics(ray_cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By joblib's backend "ray", and as tasks and chains of the cluster."""
    monkeypatch.setattr(search_rounds, "LEAST_SWEEPS", 4)  # rounds, whose chains go on
    from ray.util.joblib import register_ray

    corpus = bars(n_docs=60).corpus
    how: dict[str, Any] = {"n_chains": 2, "max_iter": 16, "random_state": 3, "left_to_right_docs": 4, "n_particles": 2}
    model = LDA(4, n_chains=2, n_shards=2, max_iter=8, random_state=0)
    expected, searched = clone(model).fit(corpus).fingerprint_, search_topics(corpus, [2, 4], **how)
    register_ray()
    with joblib.parallel_config(backend="ray", n_jobs=2):
        assert clone(model).fit(corpus).fingerprint_ == expected
        by_joblib = search_topics(corpus, [2, 4], **how)
    with scale_ray():
        assert clone(model).fit(corpus).fingerprint_ == expected
        by_tasks = search_topics(corpus, [2, 4], **how)
    for found in (by_joblib, by_tasks):
        np.testing.assert_array_equal(found.completion, searched.completion)
        np.testing.assert_array_equal(found.measures["c_npmi"], searched.measures["c_npmi"])
