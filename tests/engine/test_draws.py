"""Kept draws: what they are, the same bits however a run is cut, what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

import topicloom
from topicloom import HMM, LDA, CompoundLDA, LabeledLDA, MedLDAClassifier, VariationalLDA
from topicloom.corpus import Corpus
from topicloom.datasets import synthetic_lda
from topicloom.engine import draws, estimates
from topicloom.engine.multipath import repeated
from topicloom.engine.run import Chain
from topicloom.engine.state import rebuild_counts
from topicloom.errors import InputError, StorageError

CORPUS = synthetic_lda(n_docs=12, n_words=15, n_topics=3, doc_length=20, seed=4).corpus
PLAN: dict[str, Any] = {"max_iter": 26, "burn_in": 18, "thin": 3, "random_state": 5}  # draws at 18, 21, 24
SWEEPS = [18, 21, 24]


def longest(theta: np.ndarray, phi: np.ndarray) -> np.ndarray:
    return phi.max(axis=1)


def total(theta: np.ndarray, phi: np.ndarray, *, alpha: np.ndarray) -> float:
    return float(alpha.sum() + theta[0, 0])


FUNCTIONS: dict[str, Callable[..., Any]] = {"longest": longest, "total": total}
ALL = {"theta": "theta", "phi": "phi", **FUNCTIONS}


class Recorder:
    """States and priors after each sweep, by chain."""

    def __init__(self) -> None:
        self.seen: dict[tuple[int, int], tuple[np.ndarray, Any]] = {}

    def __call__(self, chain: Chain) -> None:
        self.seen[chain.index, chain.sweep] = np.array(chain.state.z), chain.prior


# -- what a draw is ------------------------------------------------------------------------------------------------


def by_hand(corpus: Corpus, z: np.ndarray, prior: Any) -> tuple[np.ndarray, np.ndarray]:
    """θ and φ by the standard estimator, token by token."""
    theta = np.array(prior.alpha[prior.alpha_row[: corpus.n_docs]])
    phi = np.tile(prior.beta, (prior.n_topics, 1))
    for token, (word, k) in enumerate(zip(corpus.words, z, strict=True)):
        theta[corpus.token_docs[token], k] += 1
        phi[k, word] += 1
    return theta / theta.sum(axis=1, keepdims=True), phi / phi.sum(axis=1, keepdims=True)


def test_a_draw_is_the_estimate_of_the_state_under_the_prior_that_it_was_drawn_with() -> None:
    """Priors are learned after sweeps 20 and 30 of this plan: the draw at 20 is under those from before."""
    recorder = Recorder()
    plan = {**PLAN, "burn_in": 19, "thin": 1, "max_iter": 22}
    model = LDA(3, **plan, n_chains=2, estimator="standard", keep_draws=["theta", "phi"])
    model.fit(CORPUS, callbacks=[recorder])
    found = model.draws_
    assert {name: (array.shape, array.dtype) for name, array in found.items()} == {
        "theta": ((2, 4, 12, 3), np.float32),
        "phi": ((2, 4, 3, 15), np.float32),
    }
    for chain in range(2):
        for number, sweep in enumerate(range(19, 23)):
            z, after = recorder.seen[chain, sweep]
            before = recorder.seen[chain, sweep - 1][1]
            theta, phi = by_hand(CORPUS, z, before)
            np.testing.assert_allclose(found["theta"][chain, number], theta, rtol=2e-7)
            np.testing.assert_allclose(found["phi"][chain, number], phi, rtol=2e-7)
            if sweep == 20:  # under the prior that was learned after it, it would be another
                assert np.abs(by_hand(CORPUS, z, after)[0] - theta).max() > 1e-3


@pytest.mark.parametrize("n_paths", [1, 2])
def test_draws_by_the_dense_estimator_and_functions_of_them(n_paths: int) -> None:
    recorder = Recorder()
    model = LDA(3, **PLAN, n_paths=n_paths, learn_priors=False, keep_draws=ALL).fit(CORPUS, callbacks=[recorder])
    found, corpus = model.draws_, repeated(CORPUS, n_paths)
    for number, sweep in enumerate(SWEEPS):
        z, prior = recorder.seen[0, sweep]
        counts = estimates.topic_counts(corpus, rebuild_counts(corpus, z, 3), prior, "cgs_p")
        assert counts.doc is not None
        assert counts.word is not None
        theta = counts.doc.reshape(n_paths, -1, 3).mean(axis=0) + prior.alpha[0]
        theta /= theta.sum(axis=1, keepdims=True)
        phi = ((counts.word + prior.beta[:, None]) / (counts.word + prior.beta[:, None]).sum(axis=0)).T
        np.testing.assert_array_equal(found["theta"][0, number], theta.astype(np.float32))
        np.testing.assert_array_equal(found["phi"][0, number], phi.astype(np.float32))
        np.testing.assert_array_equal(found["longest"][0, number], phi.max(axis=1))
        assert found["total"][0, number] == prior.alpha[0].sum() + theta[0, 0]
    assert found["total"].shape == (1, 3)
    assert found["longest"].shape == (1, 3, 3)


def test_the_mean_of_draws_is_what_is_published_if_priors_are_fixed() -> None:
    model = LDA(3, **PLAN, learn_priors=False, keep_draws=["theta", "phi"]).fit(CORPUS)
    np.testing.assert_allclose(model.draws_["theta"][0].mean(axis=0), model.doc_topic_, atol=1e-6)
    chain = model.chains_[0]
    assert chain.draws is not None
    assert chain.draws.n == chain.kept.n_samples == 3
    np.testing.assert_array_equal(chain.draws.arrays["phi"], model.draws_["phi"][0])


def test_keeping_draws_changes_nothing_else() -> None:
    plain, keeping = (LDA(3, **PLAN, keep_draws=keep).fit(CORPUS) for keep in (None, ALL))
    assert plain.fingerprint_ == keeping.fingerprint_
    assert plain.draws_ == {}


def test_draws_of_other_models() -> None:
    groups = ["a", "b"] * 6
    compound = CompoundLDA(3, **PLAN, keep_draws=ALL).fit(CORPUS, groups=groups)
    assert compound.draws_["theta"].shape == (1, 3, 12, 3)
    labels = [["a"], ["b", "a"], [], ["c"]] * 3
    labeled = LabeledLDA(**PLAN, n_chains=2, keep_draws=["theta", "phi"]).fit(CORPUS, labels)
    theta = labeled.draws_["theta"]
    assert theta.shape == (2, 3, 12, 3)
    np.testing.assert_allclose(theta.sum(axis=3), 1, rtol=1e-6)
    np.testing.assert_array_equal(theta[:, :, 0], np.broadcast_to(np.float32([1, 0, 0]), (2, 3, 3)))
    np.testing.assert_array_equal(theta[:, :, 2], np.broadcast_to(np.float32(1 / 3), (2, 3, 3)))
    labelled = [d for d in range(12) if d % 4 != 2]
    np.testing.assert_allclose(theta.mean(axis=(0, 1))[labelled], labeled.doc_topic_[labelled], atol=1e-6)
    med = MedLDAClassifier(3, **PLAN, keep_draws="phi").fit(CORPUS, groups)
    np.testing.assert_allclose(med.draws_["phi"][0].sum(axis=2), 1, rtol=1e-6)
    keep = ["initial", "transition", "emission"]
    hmm = HMM(2, **PLAN, keep_draws=keep).fit([[0, 1, 2, 1, 0, 2], [2, 2, 1]])
    assert {name: array.shape for name, array in hmm.draws_.items()} == {
        "initial": (1, 3, 2), "transition": (1, 3, 2, 2), "emission": (1, 3, 2, 3),
    }  # fmt: skip
    own = HMM(2, **PLAN, keep_draws={"stay": lambda initial, moves, emission: np.diag(moves)}).fit(
        [[0, 1, 2, 1, 0, 2], [2, 2, 1]]
    )
    np.testing.assert_allclose(own.draws_["stay"], np.diagonal(hmm.draws_["transition"], axis1=2, axis2=3), rtol=1e-6)


def test_alpha_of_collections_is_the_mean_over_documents() -> None:
    seen: list[np.ndarray] = []

    def look(theta: np.ndarray, phi: np.ndarray, *, alpha: np.ndarray, vocabulary: tuple[str, ...]) -> float:
        assert vocabulary == CORPUS.vocabulary
        assert not theta.flags.writeable
        seen.append(alpha)
        return 0.0

    recorder = Recorder()
    groups = ["a"] * 9 + ["b"] * 3
    model = CompoundLDA(3, **PLAN, keep_draws={"look": look}).fit(CORPUS, groups=groups, callbacks=[recorder])
    assert model.draws_["look"].tolist() == [[0, 0, 0]]
    rows = recorder.seen[0, 17][1].alpha
    np.testing.assert_allclose(seen[0], (9 * rows[0] + 3 * rows[1]) / 12, rtol=1e-12)


# -- the same bits ----------------------------------------------------------------------------------------------------


class StoppedError(Exception):
    pass


def stop_at(sweep: int) -> Callable[[Chain], None]:
    def stop(chain: Chain) -> None:
        if chain.sweep == sweep:
            raise StoppedError

    return stop


def same_draws(model: Any, other: Any) -> None:
    assert model.fingerprint_ == other.fingerprint_
    assert model.draws_.keys() == other.draws_.keys()
    for name, array in other.draws_.items():
        np.testing.assert_array_equal(model.draws_[name], array)


@pytest.fixture(scope="module")
def whole() -> LDA:
    return LDA(3, **PLAN, n_chains=2, keep_draws=ALL).fit(CORPUS)


def test_threads_change_nothing(whole: LDA) -> None:
    same_draws(LDA(3, **PLAN, n_chains=2, n_jobs=2, keep_draws=ALL).fit(CORPUS), whole)


@pytest.mark.parametrize("sweep", [10, 20, 22])
def test_a_stopped_and_resumed_run_has_the_same_draws(whole: LDA, tmp_path: Path, sweep: int) -> None:
    """Before the first draw, and between draws; the second chain has not begun."""
    model = LDA(3, **PLAN, n_chains=2, keep_draws=ALL, checkpoint_dir=tmp_path, checkpoint_every=sweep)
    with pytest.raises(StoppedError):
        model.fit(CORPUS, callbacks=[stop_at(sweep)])
    with pytest.raises(InputError, match=r"keeps draws of functions.*keep_draws=\{'longest': …, 'total': …\}"):
        topicloom.resume(tmp_path)
    same_draws(topicloom.resume(tmp_path, keep_draws=FUNCTIONS), whole)
    loaded = topicloom.load(tmp_path)
    assert loaded.keep_draws == {"theta": "theta", "phi": "phi", "longest": None, "total": None}
    same_draws(loaded, whole)


def test_a_finished_model_goes_on_and_is_saved(whole: LDA, tmp_path: Path) -> None:
    short = LDA(3, **{**PLAN, "max_iter": 20}, n_chains=2, keep_draws=ALL).fit(CORPUS)
    short.save(tmp_path / "short")
    longer = topicloom.resume(tmp_path / "short", max_iter=26, keep_draws=ALL)
    same_draws(longer, whole)
    longer.save(tmp_path / "longer")
    topicloom.load(tmp_path / "longer").save(tmp_path / "again")
    same_draws(topicloom.load(tmp_path / "again"), whole)
    with safe_open(next((tmp_path / "again").glob("chain-0*.safetensors")), framework="numpy") as file:
        assert {name for name in file.keys() if name.startswith("draws_")} == {f"draws_{name}" for name in ALL}  # noqa: SIM118
    whole.save(tmp_path / "bare", corpus=False)
    with pytest.raises(StorageError, match="without its corpus"):
        _ = topicloom.load(tmp_path / "bare").draws_


def test_chains_that_were_stopped_at_different_sweeps_have_the_draws_of_both() -> None:
    model = LDA(3, **PLAN, n_chains=2, keep_draws="theta")
    model.fit(CORPUS, callbacks=[lambda chain: chain.index == 1 and chain.sweep == 22])
    assert model.draws_["theta"].shape == (2, 2, 12, 3)
    none = LDA(3, **PLAN, keep_draws="theta").fit(CORPUS, callbacks=[lambda chain: chain.sweep == 3])
    assert none.draws_ == {}


# -- what is refused --------------------------------------------------------------------------------------------------

WRONG: list[tuple[Any, str]] = [
    ("eta", r"has 'eta', which is not known; give 'theta', 'phi', a list of them, or a dict of functions"),
    (["theta", "theta"], "'theta', which is there twice"),
    (5, "keep_draws=5 cannot be used"),
    ([longest], "cannot be used"),
    ({"x": 3}, r"keep_draws\['x'\]=3 must be a function of theta, phi"),
    ({"": longest}, "name '' ?; expected a text"),
    ({3: longest}, "the name 3; expected a text"),
    ({"theta": longest}, "is the model's own theta"),
    ({"phi": "theta"}, "is the model's own phi"),
    ({"x": None}, r"keep_draws\['x'\]=None must be a function"),
    ({"x": lambda theta, phi, *, eta: 0}, "asks for the keyword 'eta', which a draw does not have; it can have alpha"),
]


@pytest.mark.parametrize(("keep", "message"), WRONG)
def test_what_cannot_be_kept_is_refused_before_anything_is_done(keep: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        LDA(3, **PLAN, keep_draws=keep).fit(CORPUS, callbacks=[stop_at(1)])


def test_draws_need_a_burn_in_and_a_sampler() -> None:
    with pytest.raises(InputError, match=r"but none is given; give a burn_in .* for instance 25"):
        LDA(3, max_iter=50, keep_draws="theta").fit(CORPUS)
    with pytest.raises(InputError, match="keep_draws is for sampling"):
        CompoundLDA(3, **PLAN, method="vem", keep_draws="theta").fit(CORPUS, groups=["a", "b"] * 6)
    with pytest.raises(InputError, match="keep_draws is for sampling"):
        LabeledLDA(**PLAN, method="cvb0", keep_draws="theta").fit(CORPUS, [["a"]] * 12)
    with pytest.raises(InputError, match="keep_draws is for sampling"):
        HMM(2, **PLAN, method="em", keep_draws="emission").fit([[0, 1]])
    with pytest.raises(TypeError, match="keep_draws"):
        VariationalLDA(3, keep_draws="theta")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda theta, phi: "much", "gave 'much' at sweep 18; expected a number"),
        (lambda theta, phi: None, "gave None at sweep 18"),
        (lambda theta, phi: [[1], [1, 2]], "at sweep 18; expected a number"),
        (lambda theta, phi: [], "at sweep 18; expected a number"),
        (lambda theta, phi: np.nan, "NaN or infinite"),
        (lambda theta, phi: 1j, "expected a number"),
    ],
)
def test_what_is_no_number_is_refused(function: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        LDA(3, **PLAN, keep_draws={"x": function}).fit(CORPUS)


def test_a_shape_that_changes_is_refused() -> None:
    sizes = iter([2, 2, 3])
    with pytest.raises(InputError, match=r"shape \(3,\) at sweep 24, and of shape \(2,\) before"):
        LDA(3, **PLAN, keep_draws={"x": lambda theta, phi: np.zeros(next(sizes))}).fit(CORPUS)


def test_which_draws_a_run_keeps_is_fixed_when_it_begins(tmp_path: Path) -> None:
    LDA(3, **{**PLAN, "max_iter": 20}, keep_draws="theta", checkpoint_dir=tmp_path).fit(CORPUS)
    for keep, message in (("phi", "it keeps 'theta'"), ({"x": longest}, "it keeps 'theta'"), (5, "cannot be used")):
        with pytest.raises(InputError, match=message):
            topicloom.resume(tmp_path, max_iter=30, keep_draws=keep)
    assert topicloom.resume(tmp_path, max_iter=26, keep_draws="theta").draws_["theta"].shape == (1, 3, 12, 3)


# -- memory -----------------------------------------------------------------------------------------------------------


def test_memory_is_told_and_refused_before_it_is_taken(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    model = LDA(3, **PLAN, n_chains=2, keep_draws=["theta", "phi"])
    needed = model._plan(0).draws.parameter_bytes({"theta": (12, 3), "phi": (3, 15)})  # type: ignore[union-attr]
    assert needed == 3 * 4 * (12 * 3 + 3 * 15) == sum(array.nbytes for array in model.fit(CORPUS).draws_.values()) // 2
    monkeypatch.setattr(draws, "available_memory", lambda: 2 * needed - 1)
    for small in (model, MedLDAClassifier(3, **PLAN, n_chains=2, keep_draws=["theta", "phi"])):
        with pytest.raises(InputError, match=r"draws of theta and phi at 3 sweeps of 2 chains need 0\.1 MB, and"):
            small.fit(CORPUS, ["a", "b"] * 6)
    monkeypatch.setattr(draws, "available_memory", lambda: 2 * needed)
    model.fit(CORPUS)
    with pytest.raises(InputError, match="3 draws of x need"):
        LDA(3, **PLAN, keep_draws={"x": lambda theta, phi: np.zeros(10_000)}).fit(CORPUS)
    capsys.readouterr()
    MedLDAClassifier(3, **PLAN, keep_draws=["theta"], verbose=1).fit(CORPUS, ["a", "b"] * 6)
    assert "memory: draws of theta at 3 sweeps of 1 chain take 0.1 MB." in " ".join(capsys.readouterr().err.split())


def test_the_plan_of_lda_counts_draws() -> None:
    from topicloom.lda.memory import Sizes, estimate

    sizes = Sizes(1000, 2000, 50_000)
    plain, keeping = estimate(sizes, 10, n_chains=2), estimate(sizes, 10, n_chains=2, draws=10**9)
    assert keeping.sampling - plain.sampling == 2 * 10**9
    assert "draws 2.0 GB" in str(keeping)
