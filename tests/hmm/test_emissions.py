"""Emissions of numbers: every sampler leaves the exact posterior as it is, and Baum-Welch has exact expectations."""

import warnings
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.exceptions import ConvergenceWarning

import topicloom
from tests.helpers.mutating import mutate
from tests.oracles import hmm_numbers as numbers
from tests.oracles import lda as oracle
from topicloom import HMM
from topicloom.engine.sampler import Key
from topicloom.errors import InputError
from topicloom.hmm import em, forward_backward, gibbs
from topicloom.hmm.emissions.choices import EMISSIONS
from topicloom.hmm.state import Known, Parameters
from topicloom.numerics.rng import stream

KINDS = [kind for kind in EMISSIONS if kind != "categorical"]
CASES = list(numbers.cases())
REPLICATES, REJECT = 1500, 1e-9


@cache
def case_of(which: str):
    case = numbers.cases()[which]
    return case, numbers.posterior(case)


@pytest.mark.parametrize("which", CASES)
def test_log_joint_and_conditionals(which: str) -> None:
    """The joint is the chain rule's, and the collapsed weights are its ratios, missing numbers or not."""
    case, (states, _) = case_of(which)
    for z in states[:: max(1, len(states) // 8)]:
        paths = z.reshape(case.n_paths, case.n)
        state = gibbs.restore(case.seen, paths, 2)
        assert gibbs.log_joint(case.seen, state, case.prior) == pytest.approx(numbers.log_joint(case, z), abs=1e-9)
        soft = gibbs.expected_counts(case.seen, state, case.prior, "cgs_p")
        expected = np.zeros((case.n, 2))
        for j in range(case.n_paths):
            for t in range(case.n):
                logs = []
                for k in range(2):
                    other = paths.copy()
                    other[j, t] = k
                    logs.append(numbers.log_joint(case, other))
                p = np.exp(np.array(logs) - max(logs))
                expected[t] += p / p.sum()
        assert np.abs(soft.emission - expected).max() < 1e-9


def worst(case, known, sampler: str, n: int, module=gibbs) -> float:
    def sweep(z: np.ndarray, replicate: int) -> np.ndarray:
        state = gibbs.restore(case.seen, z, 2)
        for t in range(2):
            state, _ = module.sweep(case.seen, state, case.prior, Key(61, replicate, t), sampler)
        return state.z

    return numbers.invariance(case, sweep, n, 62, known)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("sampler", "paths"), [("partial", ""), ("blocked", ", two paths")])
def test_the_posterior_is_invariant(kind: str, sampler: str, paths: str) -> None:
    """Of the collapsed sampler the weights themselves are tested above."""
    case, known = case_of(kind + paths)
    p = worst(case, known, sampler, REPLICATES)
    assert p > oracle.FALSE_ALARM, f"p = {p:.3g}"


@pytest.mark.parametrize("kind", KINDS)
def test_the_collapsed_sampler_leaves_the_posterior(kind: str) -> None:
    case, known = case_of(f"{kind}, two paths")
    assert worst(case, known, "collapsed", REPLICATES) > oracle.FALSE_ALARM


# -- draws of parameters -------------------------------------------------------------------------------------------

WEIGHTS = np.array([[2.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 3.0]])


def known_laws(kind: str):
    """Functions of the parameters and their distributions given ``WEIGHTS``, by the oracle's data and prior."""
    case, _ = case_of(kind)
    values, k = case.seen.values, 0
    rows = np.repeat(values, WEIGHTS[:, k].astype(int), axis=0)
    if kind == "gaussian":
        for f in range(2):
            m, w, a, b = (0.3, -0.2)[f], 0.6, 1.3, (0.7, 1.1)[f]
            for y in rows[:, f][~np.isnan(rows[:, f])]:
                m, w, a, b = (w * m + y) / (w + 1), w + 1, a + 0.5, b + 0.5 * w * (y - m) ** 2 / (w + 1)
            yield (lambda own, f=f: own["covars"][k, f]), stats.invgamma(a, scale=b)
            yield (lambda own, f=f: own["means"][k, f]), stats.t(2 * a, m, np.sqrt(b / (a * w)))
    elif kind == "gaussian_full":
        m, w, nu, psi = np.array([0.3, -0.2]), 0.6, 2.7, numbers.SCALE
        for y in rows[~np.isnan(rows).any(axis=1)]:
            psi = psi + w / (w + 1) * np.outer(y - m, y - m)
            m, w, nu = (w * m + y) / (w + 1), w + 1, nu + 1
        for to in (np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([1.0, -1.0])):
            scale = to.dot(psi).dot(to)
            yield (lambda own, to=to: to.dot(own["covars"][k]).dot(to)), stats.invgamma((nu - 1) / 2, scale=scale / 2)
            law = stats.t(nu - 1, to.dot(m), np.sqrt(scale / (w * (nu - 1))))
            yield (lambda own, to=to: to.dot(own["means"][k])), law
    elif kind == "poisson":
        for f in range(2):
            there = rows[:, f][~np.isnan(rows[:, f])]
            law = stats.gamma(1.7 + there.sum(), scale=1 / ((0.8, 0.4)[f] + len(there)))
            yield (lambda own, f=f: own["rates"][k, f]), law
    else:
        a = numbers.SHARES[0] + rows[~np.isnan(rows).any(axis=1)].sum(axis=0)
        for v in range(3):
            yield (lambda own, v=v: own["emission"][k, v]), stats.beta(a[v], a.sum() - a[v])


def worst_law(kind: str, *changes: tuple[str, str]) -> float:
    """The least p-value of draws by the package's own source, or a mutant of it."""
    case, _ = case_of(kind)
    own = case.prior.emission
    emission = getattr(mutate(f"hmm.emissions.{kind}", *changes), type(own).__name__)(*vars(own).values())
    rng = stream(91)
    found = [emission.draw(WEIGHTS, case.seen, rng) for _ in range(1500)]
    return min(stats.kstest([value(own) for own in found], law.cdf).pvalue for value, law in known_laws(kind))


WRONG = {
    "gaussian": [
        ("variance / weight[k, f]", "variance"),
        ("log_gamma(rng, shape[k, f])", "log_gamma(rng, shape[k, f] + 1.0)"),
        ("self.shape + 0.5 * n, scale", "self.shape + 0.5 * n.max() + 0 * n, scale"),
    ],
    "gaussian_full": [
        ("0.5 * (freedom - i)", "0.5 * freedom"),
        ("a[i, j] = normal(rng)", "a[i, j] = 0.0"),
        ("/ np.sqrt(weight[k])", ""),
    ],
    "poisson": [
        ("- log(rate[k, f])", "- log(rate[k, f] + 1.0)"),
        ("log_gamma(rng, shape[k, f])", "log_gamma(rng, 1.7)"),
    ],
    "multinomial": [("self.prior + self._sums(weights, seen)), emission", "self.prior + 1), emission")],
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_are_drawn_from_their_posterior(kind: str) -> None:
    assert worst_law(kind) > oracle.FALSE_ALARM
    for change in WRONG[kind]:
        assert worst_law(kind, change) < REJECT, change


PREDICTIVES = {
    "gaussian": ("width", "(w + 1.0) / w", "1.0 / w"),
    "gaussian_full": ("degrees of freedom", "(nu + 1.0 - size)", "(nu + 1.0)"),
    "poisson": ("rate", "log(b / (b + 1.0))", "log(b)"),
    "multinomial": ("total", "lgamma(total[k] + size)", "lgamma(total[k])"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_predictives_are_seen(kind: str) -> None:
    """Weights of the first place, all others given."""
    case, _ = case_of(kind)
    _, old, new = PREDICTIVES[kind]
    state = gibbs.restore(case.seen, np.array([[0, 1, 0, 1, 0]]), 2)
    found = []
    for changes in ((), ((old, new),)):
        module = mutate(f"hmm.emissions.{kind}", *changes)
        kept = case.prior.emission.predictive(state.emission, case.seen)
        above, below = np.empty(2), np.empty(2)
        module.remove(kept, 0, 0)
        module.predict(kept, 0, above, below)
        found.append(np.log(above[0] / above[1]))
    values = case.seen.values
    right = case.predictive(values[0], values[[2, 4]]) - case.predictive(values[0], values[[1, 3]])
    assert found[0] == pytest.approx(right, abs=1e-9)
    assert abs(found[1] - right) > 1e-3


# -- given parameters ----------------------------------------------------------------------------------------------


def some_parameters(case, seed: int) -> Known:
    rng = stream(seed)
    return gibbs.draw_known(Parameters(np.zeros((3, 2)), np.zeros((case.n, 2))), case.seen, case.prior, rng)


@pytest.mark.parametrize("kind", KINDS)
def test_given_parameters_by_listing(kind: str) -> None:
    """Likelihood, posterior, best path and expected counts, against every path and SciPy's densities."""
    case, _ = case_of(kind)
    known = some_parameters(case, 7)
    given, top = gibbs.on_rows(known, case.seen, case.prior)
    values, shares = forward_backward.posteriors(case.seen, given, top)
    logs = case.prior.emission.log_table(known.own, case.seen)
    best_values, best = forward_backward.best_paths(case.seen, given, logs)
    counts = np.zeros((case.n, 2))
    ptr = case.seen.doc_ptr.tolist()
    for s, (start, stop) in enumerate(pairwise(ptr)):
        if start == stop:
            continue
        paths = list(oracle.all_states(stop - start, 2))
        p = np.array([path_log(case, known, path, start) for path in paths])
        assert values[s] == pytest.approx(np.logaddexp.reduce(p), abs=1e-10)
        assert best_values[s] == pytest.approx(p.max(), abs=1e-10)
        assert path_log(case, known, best[s], start) == pytest.approx(p.max(), abs=1e-10)
        share = np.zeros((stop - start, 2))
        for path, q in zip(paths, np.exp(p - np.logaddexp.reduce(p)), strict=True):
            share[np.arange(stop - start), path] += q
        assert np.abs(shares[s] - share).max() < 1e-10
        counts[start:stop] = share
    found = gibbs.no_counts(case.prior, case.n)
    forward_backward.expect(case.seen.tokens, given, forward_backward.room_for_forward(case.seen, 2), found)
    assert np.abs(found.emission - counts).max() < 1e-10


def path_log(case, known: Known, path, start: int) -> float:
    total, p = 0.0, 2
    for t, k in enumerate(path):
        row = case.seen.values[start + t]
        total += np.log(known.moves[p, k]) + case.density(row, k, known.own)
        p = k
    return float(total)


@pytest.mark.parametrize("kind", KINDS)
def test_em_never_goes_down(kind: str) -> None:
    """With the prior, whose maximum the last step is."""
    case, _ = case_of(kind)
    prior = case.prior._replace(moves=case.prior.moves + 1, emission=case.prior.emission.for_maximum())
    known, before = some_parameters(case, 8), -np.inf
    for _ in range(60):
        known, value = em.iterate(case.seen, known, prior)
        assert value > before - 1e-9
        before = value


# -- the estimator -------------------------------------------------------------------------------------------------


def drawn(kind: str, n: int = 400):
    rng = np.random.default_rng(3)
    z = (np.cumsum(rng.random(n) < 0.1) % 2).astype(int)
    if kind == "poisson":
        X = rng.poisson(np.array([[1.0, 6.0], [5.0, 2.0]])[z]).astype(float)
    elif kind == "multinomial":
        X = np.array([rng.multinomial(6, [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]][k]) for k in z]).astype(float)
    else:
        X = rng.normal(size=(n, 2)) + np.array([[0.0, 0.0], [2.5, 2.0]])[z]
    X[::17] = np.nan
    return z, X


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", [{}, {"sampler": "blocked", "n_paths": 2}, {"method": "em"}], ids=str)
def test_the_states_are_found_with_some_places_missing(kind: str, way) -> None:
    z, X = drawn(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = HMM(2, emission=kind, max_iter=40, random_state=0, **way).fit(X, lengths=[150, 0, 250])
    right = np.mean(model.predict(X, [150, 0, 250]) == z)
    assert max(right, 1 - right) > 0.9
    shares = model.predict_proba(X, lengths=[150, 0, 250])
    assert shares.shape == (400, 2)
    assert np.allclose(shares.sum(axis=1), 1)
    _, sampled = model.sample(5, random_state=0)
    assert sampled.shape == (5, X.shape[1])
    assert np.isfinite(model.score(X, [150, 0, 250]))
    assert np.isfinite(model.score(sampled))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_missing_is_not_dropped(kind: str) -> None:
    """A missing place between two others is a step of the chain: its neighbours do not become neighbours."""
    X = drawn(kind)[1]
    model = HMM(2, emission=kind, method="em", random_state=0).fit(X)
    rows = [model.score_samples(X[[a]])[0] for a in (1, 2)]
    apart = model.predict_proba(np.array([X[1], np.full(X.shape[1], np.nan), X[2]]))
    shares = [np.exp([model_density(model, X[a], k) for k in range(2)]) for a in (1, 2)]
    twice = model.transition_.dot(model.transition_)
    joint = (model.initial_ * shares[0])[:, None] * twice * shares[1]
    assert np.allclose(apart[0], joint.sum(axis=1) / joint.sum())
    assert np.allclose(apart[2], joint.sum(axis=0) / joint.sum())
    assert len(rows) == 2


def model_density(model: HMM, row: np.ndarray, k: int) -> float:
    names = [name for name in ("means", "covars", "rates", "emission") if hasattr(model, f"{name}_")]
    own = {name: getattr(model, f"{name}_") for name in names}
    return case_of(model.emission)[0].density(row, k, own)


@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_the_likelihood_is_that_of_hmmlearn(covariance: str) -> None:
    """After as many iterations from the same start, maximum likelihood in both."""
    hmm = pytest.importorskip("hmmlearn.hmm")
    X = np.nan_to_num(drawn("gaussian")[1], nan=0.7)
    start = {
        "initial": [0.6, 0.4], "transition": [[0.8, 0.2], [0.3, 0.7]], "means": [[0.5, 0.0], [1.5, 1.0]],
        "covars": np.ones((2, 2)) if covariance == "diag" else np.tile(np.eye(2), (2, 1, 1)),
    }  # fmt: skip
    theirs = hmm.GaussianHMM(2, covariance, n_iter=12, tol=-np.inf, init_params="", covars_prior=0.0, min_covar=0.0)
    theirs.startprob_, theirs.transmat_ = np.array(start["initial"]), np.array(start["transition"])
    theirs.means_, theirs.covars_ = np.array(start["means"]), start["covars"]
    theirs.fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        kind = "gaussian" if covariance == "diag" else "gaussian_full"
        ours = HMM(2, emission=kind, method="em", start=start, max_iter=12, tol=0).fit(X)
    assert ours.score(X) == pytest.approx(theirs.score(X), rel=1e-6, abs=1e-6)
    assert np.allclose(ours.means_, theirs.means_, atol=1e-6)
    assert np.array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", [{"sampler": "blocked", "n_paths": 2, "burn_in": 4}, {"method": "em"}], ids=str)
def test_saved_and_resumed(kind: str, way, tmp_path: Path) -> None:
    X, options = (
        drawn(kind, 90)[1],
        {"emission": kind, "tol": 0, "random_state": 2, "trace_every": 3, **way, "start": {"n_runs": 1}},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        straight = HMM(2, max_iter=14, **options).fit(X)

        def stop(chain) -> None:
            if chain.sweep == 4:
                raise RuntimeError("stopped")

        with pytest.raises(RuntimeError, match="stopped"):
            HMM(2, max_iter=14, checkpoint_dir=tmp_path / "run", checkpoint_every=3, **options).fit(X, callbacks=[stop])
        resumed = topicloom.resume(tmp_path / "run")
        assert resumed.fingerprint_ == straight.fingerprint_
        assert resumed.traces_ == straight.traces_
        straight.save(tmp_path / "m")
        loaded = topicloom.load(tmp_path / "m")
        assert loaded.fingerprint_ == straight.fingerprint_
        assert loaded.score(X) == straight.score(X)
        assert np.array_equal(loaded.chains_[0].state.moves, straight.chains_[0].state.moves)
        loaded.save(tmp_path / "again")
        more = topicloom.resume(tmp_path / "again", max_iter=17)
        assert more.fingerprint_ == HMM(2, max_iter=17, **options).fit(X).fingerprint_
    with pytest.raises(InputError, match=r"X has 5 features, but HMM is expecting"):
        loaded.score(np.ones((3, 5)))


@pytest.mark.parametrize(
    ("kind", "X", "lengths", "message"),
    [
        ("gaussian", "abc", None, "X is str"),
        ("gaussian", [], None, "there are no sequences|all sequences are empty"),
        ("gaussian", [[1.0, 2.0], [np.inf]], None, "sequence 1, place 0 has inf"),
        ("gaussian", [["a", 1.0]], None, "place 0 has 'a'; give numbers"),
        ("gaussian", np.zeros((2, 2, 2)), None, "X has 3 dimensions"),
        ("gaussian", [np.zeros((2, 2)), np.zeros((2, 3))], None, "sequence 0 has 2 features and sequence 1 3"),
        ("gaussian", np.array([[1.0, np.nan], [2.0, np.nan]]), None, "feature 1 is missing everywhere"),
        ("gaussian", np.zeros((4, 2)), [2, 1], "lengths sum to 3 but X has 4 places"),
        ("gaussian", np.zeros((4, 2)), 4, "lengths=4 must be a list"),
        ("poisson", [1.5, 2.0], None, "whole numbers of at least 0"),
        ("poisson", [-1, 2], None, "sequence 0, place 0 has -1"),
        ("multinomial", [[1, 2, None]], None, "is missing everywhere|lacks others"),
        ("gaussian_full", np.array([[1.0, 2.0], [np.nan, 1.0]]), None, "place 1 has some numbers and lacks others"),
    ],
)
def test_numbers_that_cannot_be_used_are_refused(kind: str, X, lengths, message: str) -> None:
    model = HMM(2, emission=kind, max_iter=3, random_state=0)
    if kind == "multinomial":
        X = np.array([[1.0, 2.0], [np.nan, 1.0]])
    with pytest.raises(InputError, match=message):
        model.fit(X, lengths)
    assert not hasattr(model, "seed_")


def test_numbers_come_in_every_form() -> None:
    import pandas as pd

    X = np.array([[0.0, 1.0], [np.nan, 3.0], [4.0, 4.5], [5.0, np.nan]])
    plain = HMM(2, emission="gaussian", max_iter=5, random_state=0)
    expected = plain.fit(X).fingerprint_
    lists = [[None if np.isnan(x) else x for x in row] for row in X.tolist()]
    for given in (np.ma.masked_invalid(X), pd.DataFrame(X), [X], [lists], [np.ma.masked_invalid(X)]):
        assert plain.fit(given).fingerprint_ == expected
    assert plain.fit(lists, [4]).fingerprint_ == expected
    one = HMM(2, emission="gaussian", max_iter=5, random_state=0)
    flat = one.fit([0.0, None, 4.0, 5.0]).fingerprint_
    assert one.fit(pd.Series([0, None, 4, 5], dtype="Int64")).fingerprint_ == flat
    assert one.fit(np.array([[0.0], [np.nan], [4.0], [5.0]])).fingerprint_ == flat
