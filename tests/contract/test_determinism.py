"""Nothing but corpus, options and seed decides a number: not BLAS, threads, hash seeds or what is kept of a chain.

The whole table is ``python -m tests.determinism``; here is the part of it in which BLAS once decided.
"""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import determinism
from tests.determinism import Environment

import topicloom
from topicloom import HMM, LDA, CompoundLDA, DependencyLDA, LabeledLDA, MedLDAClassifier, MedLDARegressor, PriorLDA
from topicloom.inference.kernel import kernel_names
from topicloom.models._blas import one_blas_thread

SOURCE = Path(topicloom.__file__).parent
ONE = Environment("one of everything")
MANY = Environment("more", n_jobs=3, blas=2, hash_seed="random", arenas="1")
SOME = ("MedLDARegressor mh, large", "PriorLDA cvb0, large", "LDA scvb0 stream, large", "HMM em, small")


def test_results_are_the_same_in_two_environments() -> None:
    one, many = (determinism.run_in(environment, SOME) for environment in (ONE, MANY))
    assert len(one) == 8 + 14 + 2 + 6
    assert {name for name in one if one[name] != many.get(name)} == set()


def test_the_table_has_every_model_and_sampler() -> None:
    names = list(determinism.cases())
    for sampler in kernel_names():
        assert {f"LDA {sampler}, {size}" for size in ("small", "large")} <= set(names)
    for mode in (*topicloom.models.variational.ALL_MODES,):
        assert any(name.startswith(f"LDA {mode}, ") for name in names)
    for model in topicloom.models.__all__:
        assert any(name.startswith(f"{model} ") for name in names), model
    for what in ("n_jobs", "blas", "hash_seed", "arenas"):
        assert len({getattr(environment, what) for environment in determinism.ENVIRONMENTS}) > 1


def test_a_digest_sees_every_bit() -> None:
    x = np.arange(3.0)
    others = [np.nextafter(x, 9), x.astype(np.float32), x[:, None], [x], {"x": x}, x.tolist(), x[::-1], -x]
    assert len({determinism.digest(value) for value in (x, *others)}) == 1 + len(others)
    assert determinism.digest(x.copy()) == determinism.digest(x)


# -- where BLAS may be ----------------------------------------------------------------------------------------------

LIBRARIES = {"dot", "matmul", "vdot", "inner", "tensordot", "linalg", "lstsq", "polyfit", "cov", "corrcoef", "optimize"}
FITTED = {"linear_model", "svm"}  # of scikit-learn
ALLOWED = {
    "models/_label_rules.py": "within one_blas_thread; and a product with a sparse matrix, which SciPy computes itself",
    "evaluation/coherence.py": "norm with an axis, which NumPy computes itself",
    "evaluation/collection_plots.py": "a picture",
}


def blas_in(source: Path) -> list[int]:
    """Lines that may call BLAS."""
    lines = []
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        product = isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult)
        called = isinstance(node, ast.Attribute) and node.attr in LIBRARIES
        imported = isinstance(node, ast.ImportFrom) and bool({*(node.module or "").split(".")} & (LIBRARIES | FITTED))
        if product or called or imported:
            lines.append(node.lineno)
    return lines


def test_no_number_comes_from_blas_on_several_threads() -> None:
    found = {str(path.relative_to(SOURCE)): lines for path in SOURCE.rglob("*.py") if (lines := blas_in(path))}
    assert {name: lines for name, lines in found.items() if name not in ALLOWED} == {}, "use kernels.product or np.sum"
    assert "models/_label_rules.py" in found


def test_one_blas_thread_is_one_and_is_put_back() -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads() -> list[int]:
        return [own["num_threads"] for own in threadpool_info()]

    with threadpool_limits(2):
        before = threads()
        with one_blas_thread():
            assert set(threads()) == {1}
        assert threads() == before


# -- fingerprints ---------------------------------------------------------------------------------------------------

QUICK = {"max_iter": 6, "random_state": 0}
AVERAGED = QUICK | {"burn_in": 3, "lag": 1}
MODELS: dict[str, Callable[[], Any]] = {
    "LDA": lambda: LDA(3, **QUICK).fit(determinism.corpus("tiny")),
    "CompoundLDA": lambda: CompoundLDA(3, **QUICK).fit(determinism.corpus("tiny")),
    "LabeledLDA": lambda: LabeledLDA(**AVERAGED).fit(determinism.labeled("tiny")),
    "PriorLDA": lambda: PriorLDA(holdout=0.0, **AVERAGED).fit(determinism.labeled("tiny")),
    "DependencyLDA": lambda: DependencyLDA(label_sweeps=5, **AVERAGED).fit(determinism.labeled("tiny")),
    "MedLDAClassifier": lambda: MedLDAClassifier(3, n_chains=2, **AVERAGED).fit(
        determinism.corpus("tiny"), determinism.first_labels("tiny")
    ),
    "MedLDARegressor": lambda: MedLDARegressor(3, **AVERAGED).fit(
        determinism.corpus("tiny"), determinism.numbers("tiny")
    ),
}
NUMBERS = {
    "LDA": ["_by_word", "alpha_", "beta_"],
    "CompoundLDA": ["_by_word", "alpha_", "beta_", "gamma_", "pi_", "collection_prior_"],
    "LabeledLDA": ["_by_word", "alpha_", "threshold_", "_meta", "_calibration", "label_counts_"],
    "PriorLDA": ["_by_word", "alpha_", "threshold_", "_meta", "label_counts_"],
    "DependencyLDA": ["_label_by_word", "_label_alpha", "_meta", "_calibration"],
    "MedLDAClassifier": ["_by_words", "_etas", "alpha_"],
    "MedLDARegressor": ["_by_words", "_etas", "intercept_", "_scale"],
}


def changed(value: Any) -> Any:
    """The same with the last bit of its last number changed."""
    if isinstance(value, tuple | list):
        parts = [*value[:-1], changed(value[-1])]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, np.ndarray):
        value = value.copy()
        value.flat[-1] = value.flat[-1] + 1 if value.dtype.kind in "iu" else np.nextafter(value.flat[-1], np.inf)
        return value
    return float(np.nextafter(value, np.inf))


@pytest.mark.parametrize("name", MODELS)
def test_a_fingerprint_covers_every_number_that_is_predicted_with(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    whole = model.fingerprint_
    model.save(tmp_path / "model")
    assert topicloom.load(tmp_path / "model").fingerprint_ == whole
    for attribute in NUMBERS[name]:
        before = getattr(model, attribute)
        setattr(model, attribute, changed(before))
        assert model.fingerprint_ != whole, attribute
        setattr(model, attribute, before)
    assert model.fingerprint_ == whole


def test_the_fingerprint_of_lda_is_that_of_topics_and_priors() -> None:
    from hashlib import blake2b

    model = MODELS["LDA"]()
    parts = b"".join(array.tobytes() for array in (model.components_.T.copy(), model.alpha_, model.beta_))
    assert model.fingerprint_ == blake2b(parts, digest_size=16).hexdigest()


# -- what is kept of a chain ----------------------------------------------------------------------------------------

CHAINS: dict[str, Callable[..., Any]] = {
    **{
        f"LDA {sampler}": lambda sampler=sampler, **own: LDA(3, sampler=sampler, **QUICK, **own).fit(
            determinism.corpus("tiny")
        )
        for sampler in kernel_names()
    },
    **{
        f"CompoundLDA {inference}": lambda inference=inference, **own: CompoundLDA(
            3, inference=inference, collection_prior=None, **QUICK, **own
        ).fit(determinism.corpus("tiny"))
        for inference in ("ags", "mgs")
    },
    "PriorLDA": lambda **own: PriorLDA(holdout=0.0, **QUICK, **own).fit(determinism.labeled("tiny")),
    **{
        f"MedLDAClassifier {sampler}": lambda sampler=sampler, **own: MedLDAClassifier(
            3, sampler=sampler, **QUICK, **own
        ).fit(determinism.corpus("tiny"), determinism.first_labels("tiny"))
        for sampler in ("mh", "dense")
    },
    **{
        f"HMM {sampler}": lambda sampler=sampler, **own: HMM(2, sampler=sampler, **QUICK, **own).fit([[0, 1, 1, 0] * 9])
        for sampler in ("collapsed", "partial", "blocked")
    },
}


@pytest.mark.parametrize("name", CHAINS)
def test_burn_in_and_estimator_change_what_is_computed_and_never_the_chain(name: str) -> None:
    options = [{"burn_in": None}, {"burn_in": 1}, {"burn_in": 4, "estimator": "standard"}]
    chains = [CHAINS[name](**own).chains_[0] for own in options]
    for chain in chains[1:]:
        np.testing.assert_array_equal(chain.state.z, chains[0].state.z)
        mixtures = getattr(chain, "mixtures", None)
        if mixtures is not None:
            for array in ("pi", "phi", "log_step", "acceptance", "alpha"):
                np.testing.assert_array_equal(getattr(mixtures, array), getattr(chains[0].mixtures, array))
