"""The HMM estimator: what it answers, how it is saved and stopped, and the parameters that it refuses."""

import os
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import topicloom
from tests.helpers.saved import file_of, put
from tests.hmm.ways import EMISSION, IDS, INITIAL, LENGTHS, QUICK, TRANSITION, WAYS
from topicloom import HMM, from_texts
from topicloom.errors import InputError, InterruptedFitWarning, StorageError
from topicloom.hmm import forward_backward, gibbs
from topicloom.hmm.sequences import training_corpus
from topicloom.hmm.state import make_parameters


@pytest.mark.parametrize("way", WAYS, ids=IDS)
def test_the_truth_is_found(way, drawn) -> None:
    states, sequences = drawn
    model = HMM(2, **way, max_iter=150, n_chains=3, random_state=0).fit(sequences)
    order = [0, 1] if model.emission_[0, 0] > model.emission_[1, 0] else [1, 0]
    assert np.abs(model.emission_[order] - EMISSION).max() < 0.1
    assert np.abs(model.transition_[order][:, order] - TRANSITION).max() < 0.1
    found = np.concatenate(model.predict(sequences))
    right = np.mean(np.array(order)[found] == np.concatenate(states))
    assert right > 0.85
    truth = forward_backward.log_likelihoods(
        training_corpus(sequences, None)[0], make_parameters(INITIAL, TRANSITION, EMISSION)
    )
    assert model.score(sequences) > truth.sum() - 15


@pytest.mark.parametrize("way", WAYS, ids=IDS)
def test_rows_are_distributions(way, sequences) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = HMM(3, **way, **QUICK, random_state=0).fit(sequences)
    assert model.initial_.shape == (3,)
    assert model.transition_.shape == (3, 3)
    assert model.emission_.shape == (3, 4)
    assert model.alphabet_ == (0, 1, 2, 3)
    for rows in (model.initial_[None], model.transition_, model.emission_):
        assert np.allclose(rows.sum(axis=1), 1)
        assert rows.min() >= 0


@pytest.mark.parametrize("way", WAYS, ids=IDS)
def test_threads_change_nothing(way, sequences) -> None:
    for n_chains in (1, 3):
        prints = set()
        for n_jobs in (None, 2, 4):
            model = HMM(2, **way, **QUICK, tol=0, n_chains=n_chains, n_jobs=n_jobs, random_state=5).fit(sequences)
            prints.add((model.fingerprint_, tuple(model.log_joint_)))
        assert len(prints) == 1


def test_seeds(sequences) -> None:
    a, b, c = (HMM(2, **QUICK, random_state=seed).fit(sequences).fingerprint_ for seed in (1, 1, 2))
    assert a == b != c


# -- answers -------------------------------------------------------------------------------------------------------


def test_one_sequence_and_several(sequences) -> None:
    model = HMM(2, **QUICK, random_state=0).fit(sequences)
    values, states = model.decode(sequences)
    assert [len(z) for z in states] == LENGTHS
    for s in (0, 1, 2):
        value, alone = model.decode(sequences[s])
        assert value == values[s]
        assert np.array_equal(alone, states[s])
        assert np.array_equal(model.predict(sequences[s].tolist()), states[s])
    assert model.score(sequences) == pytest.approx(sum(model.score(x) for x in sequences if len(x)))
    assert model.score_samples(sequences).shape == (5,)
    assert model.score_samples(sequences)[3] == 0
    shares = model.predict_proba(sequences)
    values, states = model.decode(sequences, "posterior")
    assert values == pytest.approx(model.score_samples(sequences))
    for share, z in zip(shares, states, strict=True):
        assert np.array_equal(share.argmax(axis=1), z)
        assert np.allclose(share.sum(axis=1), 1)
    one = model.predict_proba(sequences[0])
    assert np.array_equal(one, shares[0])


def test_symbols_of_any_kind(sequences) -> None:
    names = np.array(["low", "mid", "high", "top"])
    as_names = [[str(names[v]) for v in x] for x in sequences]
    numbers = HMM(2, **QUICK, alphabet=4, random_state=0).fit(sequences)
    named = HMM(2, **QUICK, alphabet=["low", "mid", "high", "top"], random_state=0).fit(as_names)
    assert np.array_equal(named.emission_, numbers.emission_)
    found = HMM(2, **QUICK, random_state=0).fit(as_names)
    assert found.alphabet_ == ("high", "low", "mid", "top")
    assert len(found.predict(["low", "top", "low"])) == 3
    mixed = HMM(2, **QUICK, random_state=0).fit([["a", 1, (2, 3)], ["a", 1, 1, "1"]])
    assert set(mixed.alphabet_) == {"a", 1, (2, 3), "1"}
    texts = from_texts(["the cat sat on the mat", "the dog sat"], stop_words=None)
    by_words = HMM(2, **QUICK, random_state=0).fit(texts)
    assert by_words.alphabet_ == texts.vocabulary
    assert [len(z) for z in by_words.predict(texts)] == texts.doc_lengths.tolist()


def test_unseen_symbols_have_a_place_in_the_alphabet() -> None:
    model = HMM(2, alphabet=6, **QUICK, random_state=0).fit([[0, 1, 1, 0, 2]])
    assert model.emission_.shape == (2, 6)
    assert model.score([5, 4]) > -np.inf


def test_sampling(sequences) -> None:
    model = HMM(2, **QUICK, random_state=0).fit(sequences)
    states, drawn = model.sample([4, 0, 7], random_state=1)
    assert [len(z) for z in states] == [len(w) for w in drawn] == [4, 0, 7]
    again = model.sample([4, 0, 7], random_state=1)[1]
    assert all(np.array_equal(a, b) for a, b in zip(drawn, again, strict=True))
    one_states, one = HMM(2, **QUICK, random_state=0).fit([["b", "a", "a"]]).sample(5, random_state=0)
    assert len(one_states) == len(one) == 5
    assert set(one) <= {"a", "b"}


def test_estimators_and_averages(sequences) -> None:
    dense = HMM(2, **QUICK, random_state=0).fit(sequences)
    plain = HMM(2, **QUICK, estimator="standard", random_state=0).fit(sequences)
    state = plain.chains_[0].state
    counts = state.emission.T + 1
    assert np.allclose(plain.emission_, counts / counts.sum(axis=1, keepdims=True))
    assert np.array_equal(dense.chains_[0].state.z, state.z)
    assert not np.array_equal(dense.emission_, plain.emission_)
    averaged = HMM(2, max_iter=30, burn_in=10, thin=5, estimator="standard", random_state=0)
    sums: list[np.ndarray] = []
    averaged.fit(
        sequences,
        callbacks=[lambda c: sums.append(c.state.emission.copy()) if c.sweep in (10, 15, 20, 25, 30) else None],
    )
    assert averaged.chains_[0].kept.n_samples == 5
    mean = np.mean(sums, axis=0).T + 1
    assert np.allclose(averaged.emission_, mean / mean.sum(axis=1, keepdims=True))


def test_trace_and_agreement(sequences) -> None:
    model = HMM(2, n_paths=3, max_iter=40, trace_every=10, random_state=0).fit(sequences)
    trace = model.trace_
    assert trace.sweep == [10, 20, 30, 40]
    z = model.chains_[0].state.z
    assert trace.agreement[-1] == np.mean((z[0] == z[1]) & (z[1] == z[2]))
    assert trace.log_joint[-1] == model.log_joint_[0]
    assert len(trace.log_likelihood) == 4
    plain = HMM(2, n_paths=3, max_iter=40, estimator="standard", random_state=0).fit(sequences)
    assert trace.log_likelihood[-1] == pytest.approx(plain.score(sequences))
    assert 0 < trace.changed[-1] < z.size
    alone = HMM(2, max_iter=10, random_state=0).fit(sequences)
    assert alone.trace_.agreement == [1.0]


def test_priors_in_every_form(sequences) -> None:
    matrix = HMM(
        2, initial_prior=[1, 2], transition_prior=np.full((2, 2), 0.5), emission_prior=[0.1, 0.2, 0.3, 0.4], **QUICK,
        random_state=0,
    ).fit(sequences)  # fmt: skip
    rows = HMM(
        2, initial_prior=[1, 2], transition_prior=0.5, emission_prior=np.tile([0.1, 0.2, 0.3, 0.4], (2, 1)), **QUICK,
        random_state=0,
    ).fit(sequences)  # fmt: skip
    assert matrix.fingerprint_ == rows.fingerprint_
    sticky = HMM(2, transition_prior=[[1e6, 1], [1, 1e6]], **QUICK, random_state=0).fit(sequences)
    assert np.diag(sticky.transition_).min() > 0.99


@pytest.mark.parametrize("sampler", gibbs.SAMPLERS)
def test_sparse_priors_are_fine(sampler: str, sequences) -> None:
    model = HMM(
        4, sampler=sampler, n_paths=2, initial_prior=1e-3, transition_prior=1e-3, emission_prior=1e-3, **QUICK,
        random_state=0,
    ).fit(sequences)  # fmt: skip
    assert np.isfinite(model.log_joint_).all()
    assert np.isfinite(model.score(sequences))


def test_one_state_and_more_states_than_symbols() -> None:
    one = HMM(1, random_state=0, estimator="standard", max_iter=2).fit([[0, 1, 1, 2]])
    assert one.emission_ == pytest.approx(np.array([[2, 3, 2]]) / 7)
    assert one.score([0, 1]) == pytest.approx(np.log(2 / 7 * 3 / 7))
    many = HMM(300, random_state=0, max_iter=2).fit([[0, 1, 1, 2]])
    assert many.emission_.shape == (300, 3)


# -- stopping, files -----------------------------------------------------------------------------------------------


def test_callbacks(sequences) -> None:
    seen: list[int] = []
    model = HMM(2, max_iter=50, random_state=0).fit(
        sequences, callbacks=[lambda chain: seen.append(chain.sweep), lambda chain: chain.sweep == 4]
    )
    assert seen == [1, 2, 3, 4]
    assert model.n_iter_ == 4
    assert not model.interrupted_


def test_an_error_in_a_callback_reaches_the_caller(sequences) -> None:
    def fail(chain) -> None:
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        HMM(2, n_chains=2, n_jobs=2, random_state=0).fit(sequences, callbacks=[fail])


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C as in a terminal; a shell that starts tests in the background makes them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("way", [WAYS[1], WAYS[4]], ids=["collapsed", "em"])
def test_ctrl_c_keeps_what_was_done_and_the_run_goes_on(way, sequences, tmp_path: Path, ctrl_c: None) -> None:
    def interrupt(chain) -> None:
        if chain.sweep == 7:
            os.kill(os.getpid(), signal.SIGINT)

    options = {**way, "max_iter": 30, "tol": 0, "random_state": 3}
    model = HMM(2, **options, checkpoint_dir=tmp_path / "run")
    with pytest.warns(InterruptedFitWarning, match="after sweep 7 of 30"):
        model.fit(sequences, callbacks=[interrupt])
    assert model.interrupted_
    assert model.n_iter_ == 7
    assert np.isfinite(model.score(sequences))
    with pytest.raises(StorageError, match="has not finished"):
        topicloom.load(tmp_path / "run")
    resumed = topicloom.resume(tmp_path / "run")
    straight = HMM(2, **options).fit(sequences)
    assert resumed.fingerprint_ == straight.fingerprint_
    assert resumed.trace_ == straight.trace_


@pytest.mark.parametrize("way", WAYS, ids=IDS)
def test_resuming_is_exact(way, sequences, tmp_path: Path) -> None:
    options = {**way, "n_chains": 2, "tol": 0, "random_state": 9, "burn_in": 8, "thin": 4, "trace_every": 5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        HMM(2, **options, max_iter=15, checkpoint_dir=tmp_path / "run", checkpoint_every=4).fit(sequences)
        more = topicloom.resume(tmp_path / "run", max_iter=33, n_jobs=2)
        straight = HMM(2, **options, max_iter=33).fit(sequences)
    assert more.fingerprint_ == straight.fingerprint_
    assert np.array_equal(more.log_joint_, straight.log_joint_)
    assert more.traces_ == straight.traces_
    again = topicloom.load(tmp_path / "run")
    assert again.fingerprint_ == straight.fingerprint_
    assert again.max_iter == 33


def test_save_and_load(sequences, tmp_path: Path) -> None:
    model = HMM(2, n_paths=2, **QUICK, n_chains=2, random_state=0).fit([[f"s{v}" for v in x] for x in sequences])
    model.save(tmp_path / "m")
    loaded = topicloom.load(tmp_path / "m")
    assert isinstance(loaded, HMM)
    assert loaded.fingerprint_ == model.fingerprint_
    assert loaded.alphabet_ == model.alphabet_
    assert loaded.traces_ == model.traces_
    assert (loaded.best_chain_, loaded.n_iter_, loaded.seed_) == (model.best_chain_, model.n_iter_, 0)
    assert np.array_equal(loaded.chains_[1].state.z, model.chains_[1].state.z)
    assert np.array_equal(loaded.chains_[1].state.moves, model.chains_[1].state.moves)
    assert loaded.score(["s1", "s2"]) == model.score(["s1", "s2"])
    further = topicloom.resume(tmp_path / "m", max_iter=20)
    straight = HMM(2, n_paths=2, max_iter=20, trace_every=3, n_chains=2, random_state=0).fit(
        [[f"s{v}" for v in x] for x in sequences]
    )
    assert further.fingerprint_ == straight.fingerprint_
    model.save(tmp_path / "small", corpus=False)
    small = topicloom.load(tmp_path / "small")
    assert small.score(["s1"]) == model.score(["s1"])
    with pytest.raises(StorageError, match="without its corpus"):
        _ = small.chains_


def test_files_that_do_not_fit_are_refused(sequences, tmp_path: Path) -> None:
    model = HMM(2, **QUICK, random_state=0).fit(sequences)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="not a topicloom directory"):
        model.save(tmp_path / "other")
    with pytest.raises(InputError, match="is not empty"):
        HMM(2, checkpoint_dir=tmp_path / "other").fit(sequences)
    model.save(tmp_path / "m")
    with pytest.raises(InputError, match="is less than the 12 sweeps"):
        topicloom.resume(tmp_path / "m", max_iter=5)
    HMM(2, **QUICK, random_state=0).fit(sequences[0]).save(tmp_path / "short")
    put(tmp_path / "m", "chain-0", file_of(tmp_path / "short", "chain-0"))
    with pytest.raises(StorageError, match="belongs to other sequences"):
        _ = topicloom.load(tmp_path / "m").chains_
    odd = HMM(2, **QUICK, random_state=0).fit([[("a", 1), ("b", 2)]])
    with pytest.raises(InputError, match="a file cannot hold"):
        odd.save(tmp_path / "odd")
    assert not (tmp_path / "odd").exists()


def test_progress_is_shown(sequences, capfd) -> None:
    HMM(2, max_iter=3, verbose=1, random_state=0).fit(sequences)
    assert "sweeps" in capfd.readouterr().err


def test_scikit_learn_manners(sequences) -> None:
    model = HMM(3, n_paths=2, emission_prior=[1, 2, 3, 4])
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.set_params(n_components=2).n_components == 2
    for ask in (lambda: model.predict([[0]]), lambda: model.score([[0]]), lambda: model.save("nowhere")):
        with pytest.raises(NotFittedError):
            ask()


# -- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components=0 must be a whole number"),
        ({"n_components": 1 << 16}, "would not fit"),
        ({"n_paths": 0}, "n_paths=0 must be"),
        ({"sampler": "magic"}, "'collapsed', 'partial', 'blocked'"),
        ({"method": "vb"}, "method='vb' is not known"),
        ({"estimator": "mean"}, "estimator='mean' is not known"),
        ({"burn_in": 600}, "leaves no sweep"),
        ({"tol": -1}, "tol=-1 must be"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"method": "em", "n_paths": 2}, "leave it at 1"),
        ({"method": "em", "emission_prior": 0.5}, "emission_prior has 0.5"),
        ({"initial_prior": [1, 2, 3]}, r"initial_prior has shape \(3,\)"),
        ({"transition_prior": np.ones((3, 2))}, r"transition_prior has shape \(3, 2\)"),
        ({"emission_prior": 0}, "emission_prior contains 0.0"),
        ({"emission_prior": [[1, 1], [1, -1]]}, "emission_prior contains -1.0"),
        ({"alphabet": 0}, "alphabet=0 must be"),
        ({"alphabet": "ab"}, "a list of at least one"),
        ({"alphabet": ["a", "a"]}, "'a' twice"),
    ],
)
def test_bad_parameters(options, message: str) -> None:
    model = HMM(**{"n_components": 2, **options})
    with pytest.raises(InputError, match=message):
        model.fit([[0, 1, 1], [0]])
    assert not hasattr(model, "seed_")
