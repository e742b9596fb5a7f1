"""Directories of version 1, as the package wrote them before: they load, and go on to where they would have gone.

``expected.json`` has what that version itself made of each: loaded or resumed, and then resumed to 20 sweeps. Topics
are compared bit for bit; of floats, whose last digit may differ between machines, weighted sums.
"""

import json
import shutil
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicloom
from tests.files.test_full_disk import FULL, contents, full_at
from tests.helpers.saved import files_in
from topicloom.errors import StorageError
from topicloom.files import directories
from topicloom.files.manifests import MANIFEST, VERSION

FIXTURES = Path(__file__).parents[1] / "fixtures" / "version1"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text())
GO_ON = [name for name in EXPECTED if name != "stream"]
FINISHED = [name for name in EXPECTED if "loaded" in EXPECTED[name]]


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURES / request.param, tmp_path / "model"))


def said(model: Any, names: list[str]) -> dict[str, Any]:
    topics = blake2b(digest_size=8)
    for chain in model.chains_:
        z = getattr(chain.state, "z", None)
        if z is not None and z.dtype.kind in "iu":
            topics.update(np.asarray(z, np.int64).tobytes())
    values = {name: np.abs(np.asarray(getattr(model, name), float)).ravel() for name in names}
    sums = {name: float(a @ (1.0 + np.arange(a.size) % 7)) for name, a in values.items()}
    return {"topics": topics.hexdigest(), "sums": pytest.approx(sums, rel=1e-12)}


def check(model: Any, expected: dict[str, Any]) -> None:
    assert expected == said(model, list(expected["sums"]))


def check_further(model: Any, expected: dict[str, Any]) -> None:
    """Chains go on to where they would have gone; what labels are calibrated to is learned anew, as it is now."""
    sums = {name: value for name, value in expected["sums"].items() if name != "threshold_"}
    check(model, expected | {"sums": sums})
    if "threshold_" in expected["sums"]:
        assert 0 < model.threshold_ < 1
        assert len(model._calibration.slope) == len(model.classes_)


def on_parameters(names: list[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("folder", "name"), [(name, name) for name in names], indirect=["folder"], ids=names)


def test_all_are_here() -> None:
    assert {path.name for path in FIXTURES.iterdir() if path.is_dir()} == EXPECTED.keys()
    assert all(json.loads((FIXTURES / name / MANIFEST).read_text())["version"] == 1 for name in EXPECTED)


@on_parameters(FINISHED)
def test_a_model_is_loaded(folder: Path, name: str) -> None:
    before = contents(folder)
    check(topicloom.load(folder), EXPECTED[name]["loaded"])
    assert contents(folder) == before


@on_parameters(GO_ON)
def test_a_run_or_a_model_goes_on(folder: Path, name: str) -> None:
    if name not in FINISHED:
        check_further(topicloom.resume(folder), EXPECTED[name]["resumed"])
    check_further(topicloom.resume(folder, max_iter=20), EXPECTED[name]["further"])
    check_further(topicloom.load(folder), EXPECTED[name]["further"])
    manifest = json.loads((folder / MANIFEST).read_text())
    assert manifest["version"] == VERSION
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [MANIFEST, *(entry["file"] for entry in manifest["files"].values())]
    )


@on_parameters(FINISHED)
def test_a_model_is_saved_as_the_present_version(folder: Path, name: str) -> None:
    """Elsewhere, and over itself; both go on as the old one does."""
    elsewhere = folder.with_name("elsewhere")
    topicloom.load(folder).save(elsewhere, corpus=name != "stream")
    topicloom.load(folder).save(folder, corpus=name != "stream")
    names = [path.name for path in folder.iterdir() if path.name != MANIFEST]
    assert all(directories.SAVED.fullmatch(each) for each in names)
    for saved in (folder, elsewhere):
        if name != "stream":
            check(topicloom.load(saved), EXPECTED[name]["loaded"])
            check_further(topicloom.resume(saved, max_iter=20), EXPECTED[name]["further"])


@on_parameters(["lda", "labeled", "hmm"])
def test_an_old_model_stays_until_the_new_one_is_there(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, before = topicloom.load(folder), contents(folder)
    with full_at(999) as written:
        model.save(folder.with_name("elsewhere"))
    for n in range(len(written)):
        with full_at(n), pytest.raises(StorageError, match=FULL):
            model.save(folder)
        check(topicloom.load(folder), EXPECTED[name]["loaded"])
        assert before.items() <= contents(folder).items()
    with full_at(0), pytest.raises(StorageError, match=FULL):
        topicloom.resume(folder, max_iter=20)
    check(topicloom.load(folder), EXPECTED[name]["loaded"])
    monkeypatch.setattr(directories, "_clean", lambda folder: None)  # killed before it could tidy up
    model.save(folder)
    monkeypatch.undo()
    assert before.keys() <= contents(folder).keys()
    check(topicloom.load(folder), EXPECTED[name]["loaded"])
    model.save(folder)
    assert files_in(folder) == sorted(before)
    assert not (before.keys() - {MANIFEST}) & contents(folder).keys()


@on_parameters(["lda", "lda_running"])
def test_a_chain_of_version_1_may_be_of_any_run_but_must_fit(folder: Path, name: str) -> None:
    """They did not name their run; what does not fit is refused all the same."""
    for other in ("medlda", "hmm", "compound"):
        shutil.copy(FIXTURES / other / "chain-0.safetensors", folder)
        with pytest.raises(StorageError, match=r"chain-0.safetensors"):
            topicloom.resume(folder, max_iter=20)
