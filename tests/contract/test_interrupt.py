"""Callbacks and Ctrl-C."""

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from tests.torture.cases import CASES, EARLIER, SWEEPS
from tests.torture.kills import content
from topicloom import LDA, load, resume
from topicloom.datasets import synthetic_lda
from topicloom.engine import run
from topicloom.errors import InterruptedFitWarning, StorageError
from topicloom.files.directories import Stored


@pytest.fixture(scope="module")
def corpus():
    return synthetic_lda(40, 50, 4, doc_length=25, seed=1).corpus


def test_callbacks_see_every_sweep_and_can_stop(corpus) -> None:
    seen = []
    model = LDA(4, max_iter=50, random_state=0).fit(
        corpus, callbacks=[lambda chain: seen.append(chain.sweep), lambda chain: chain.sweep == 7]
    )
    assert seen == [1, 2, 3, 4, 5, 6, 7]
    assert model.n_iter_ == 7
    assert not model.interrupted_


def test_an_error_in_a_callback_reaches_the_caller(corpus) -> None:
    def fail(chain) -> None:
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        LDA(4, max_iter=50, random_state=0, n_chains=3, n_jobs=3).fit(corpus, callbacks=[fail])


@pytest.fixture
def ctrl_c():
    """Ctrl-C as in a shell; a job in the background would ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("n_chains", [1, 2])
def test_ctrl_c_keeps_what_was_computed(corpus, tmp_path, n_chains: int) -> None:
    def press(chain) -> None:
        if chain.sweep == 9 and chain.index == 0:
            os.kill(os.getpid(), signal.SIGINT)

    folder = tmp_path / "run"
    model = LDA(4, max_iter=4000, random_state=0, n_chains=n_chains, n_jobs=2, checkpoint_dir=folder)
    with pytest.warns(InterruptedFitWarning, match=r"interrupted after sweep \d+ of 4000"):
        model.fit(corpus, callbacks=[press])
    assert model.interrupted_
    assert 9 <= model.n_iter_ < 4000
    assert model.transform(corpus).shape == (40, 4)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    done = resume(folder, max_iter=model.n_iter_ + 25)
    straight = LDA(4, max_iter=done.n_iter_, random_state=0, n_chains=n_chains).fit(corpus)
    np.testing.assert_array_equal(done.components_, straight.components_)
    assert done.fingerprint_ == straight.fingerprint_


# -- every kind of model ---------------------------------------------------------------------------------------------

CHAINS = 2
LAST = CHAINS - 1
PRESSED = {  # chain and sweep in which Ctrl-C comes; chains follow one another
    "the first sweep": (0, 1),
    "a middle sweep": (0, EARLIER),
    "the first chain's last sweep": (0, SWEEPS),
    "the last chain's first sweep": (LAST, 1),
    "a middle sweep of the last chain": (LAST, EARLIER),
    "the last sweep": (LAST, SWEEPS),
}


def fit(name: str, folder: Path, **options: Any) -> tuple[Any, list[type[Warning]]]:
    """A model whose every sweep has something after it, and what it warned of."""
    callbacks = options.pop("callbacks", [lambda chain: None])
    params = {"n_chains": CHAINS, "trace_every": 3, "checkpoint_every": 50, "checkpoint_dir": folder, **options}
    model = CASES[name].model(**params)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(*CASES[name].data(0), callbacks=callbacks)
    return model, [warning.category for warning in seen]


def resumed(folder: Path, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few iterations need not converge
        return resume(folder, **options)


@cache
def left_alone(name: str) -> tuple[str, dict[str, str]]:
    """Fingerprint and digests of all files of a run that nothing has disturbed."""
    with TemporaryDirectory() as folder:
        model, _ = fit(name, Path(folder, "run"))
        assert [chain.sweep for chain in model.chains_] == [SWEEPS] * CHAINS
        return model.fingerprint_, content(Path(folder, "run"))


def assert_same_bits(name: str, model: Any, folder: Path) -> None:
    fingerprint, files = left_alone(name)
    assert not model.interrupted_
    assert model.fingerprint_ == load(folder).fingerprint_ == fingerprint
    assert content(folder) == files


def press_in(monkeypatch: pytest.MonkeyPatch, chain: int, sweep: int, times: int = 1, *, number: int = 0) -> None:
    """Ctrl-C while a sweep is under way, of the model itself or of another one that it fits after its own chains."""
    advance: Callable[..., None] = run.advance
    corpora: list[Any] = []  # of all models so far

    def pressed(sampler: Any, corpus: Any, at: Any, plan: Any, n_sweeps: int = 1) -> None:
        if not any(corpus is other for other in corpora):
            corpora.append(corpus)
        now = len(corpora) == number + 1 and at.index == chain
        if now and at.sweep < sweep <= at.sweep + n_sweeps:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)
        advance(sampler, corpus, at, plan, n_sweeps)

    monkeypatch.setattr(run, "advance", pressed)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("when", PRESSED)
@pytest.mark.parametrize("name", CASES)
def test_ctrl_c_in_any_sweep(name: str, when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finished run is finished, an interrupted one goes on to the same bits."""
    folder, (chain, sweep) = tmp_path / "run", PRESSED[when]
    with monkeypatch.context() as patched:
        press_in(patched, chain, sweep)
        model, warned = fit(name, folder)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    done = [SWEEPS] * chain + [sweep] + [0] * (LAST - chain)
    assert [own.sweep for own in model.chains_] == done  # the sweep under way was finished
    assert model.n_iter_ == done[model.best_chain_]
    if when == "the last sweep":
        assert InterruptedFitWarning not in warned
    else:
        assert model.interrupted_
        assert InterruptedFitWarning in warned
        assert all(np.all(np.isfinite(part)) for part in model._fitted_numbers()[:2])
        assert_saved_as_it_is(model, tmp_path / "saved")
        assert saved_sweeps(folder) == done
        with pytest.raises(StorageError, match="has not finished"):
            load(folder)
        model = resumed(folder)
    assert_same_bits(name, model, folder)


def saved_sweeps(folder: Path) -> list[int]:
    """Where each chain of a run goes on from."""
    stored = Stored.open(folder)
    return [stored.read_chain(index)[2]["sweep"] if stored.chain_path(index) else 0 for index in range(CHAINS)]


def assert_saved_as_it_is(model: Any, folder: Path) -> None:
    model.save(folder)
    loaded = load(folder)
    assert loaded.interrupted_
    assert loaded.fingerprint_ == model.fingerprint_
    assert [chain.sweep for chain in loaded.chains_] == [chain.sweep for chain in model.chains_]


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize(
    ("name", "number"),
    [("LabeledLDA", 1), ("PriorLDA", 1), ("DependencyLDA", 1), ("DependencyLDA", 2), ("DependencyLDA", 3)],
)
def test_ctrl_c_while_labels_are_learned_or_calibrated(
    name: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chains have ended, but the model that goes into the directory is not there yet."""
    folder = tmp_path / "run"
    with monkeypatch.context() as patched:
        press_in(patched, 0, EARLIER, number=number)
        model, warned = fit(name, folder)
    assert [chain.sweep for chain in model.chains_] == [SWEEPS] * CHAINS
    assert model.interrupted_
    assert warned.count(InterruptedFitWarning) == 1
    assert model.fingerprint_ != left_alone(name)[0]
    assert_saved_as_it_is(model, tmp_path / "saved")
    assert_same_bits(name, resumed(folder), folder)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("name", CASES)
def test_ctrl_c_twice_stops_at_once(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    with monkeypatch.context() as patched:
        press_in(patched, LAST, EARLIER, times=2)
        with pytest.raises(KeyboardInterrupt):
            fit(name, folder, checkpoint_every=2)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert saved_sweeps(folder) == [SWEEPS, EARLIER - 2]
    assert_same_bits(name, resumed(folder, n_jobs=2), folder)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_an_error_in_a_callback_ends_all_chains(name: str, n_jobs: int, tmp_path: Path) -> None:
    folder, failed, reached, n_threads = tmp_path / "run", threading.Event(), [0] * CHAINS, threading.active_count()

    def fail_in_the_first(chain: Any) -> None:
        reached[chain.index] = chain.sweep
        if chain.index == 0 and chain.sweep == EARLIER:
            failed.set()
            raise LookupError("from the callback")
        if chain.index > 0:  # does not run ahead of it
            assert failed.wait(timeout=60)
            time.sleep(0.1)

    with pytest.raises(LookupError, match="from the callback"):
        fit(name, folder, n_jobs=n_jobs, callbacks=[fail_in_the_first], checkpoint_every=4)
    assert reached[0] == EARLIER
    assert max(reached[1:]) <= 2
    assert n_jobs > 1 or not any(reached[1:])
    assert saved_sweeps(folder) == [4, *reached[1:]]  # the last one of the chain that failed, all of the others
    assert threading.active_count() == n_threads
    assert_same_bits(name, resumed(folder, n_jobs=n_jobs), folder)
