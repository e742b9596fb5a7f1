"""Callbacks and Ctrl-C."""

import os
import signal

import numpy as np
import pytest

from topicloom import LDA
from topicloom.datasets import synthetic_lda
from topicloom.errors import InterruptedFitWarning


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

    from topicloom import resume

    done = resume(folder, max_iter=model.n_iter_ + 25)
    straight = LDA(4, max_iter=done.n_iter_, random_state=0, n_chains=n_chains).fit(corpus)
    np.testing.assert_array_equal(done.components_, straight.components_)
    assert done.fingerprint_ == straight.fingerprint_
