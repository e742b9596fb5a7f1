"""Nothing but corpus, options and seed decides a number: not BLAS, threads, hash seeds or what is kept of a chain.

The whole table is ``python -m tests.determinism``; here is the part of it in which BLAS once decided.
"""

import ast
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicloom
from tests.determinism import cases, environments
from tests.determinism.environments import Environment
from topicloom import (
    HDP,
    HMM,
    LDA,
    CompoundLDA,
    DependencyLDA,
    LabeledLDA,
    MedLDAClassifier,
    MedLDARegressor,
    PriorLDA,
    VariationalLDA,
)
from topicloom.lda.gibbs import sampler_names
from topicloom.lda.variational.sampler import ALL_MODES
from topicloom.numerics.blas import one_blas_thread

SOURCE = Path(topicloom.__file__).parent
ONE = Environment("one of everything")
MANY = Environment("more", n_jobs=3, blas=2, hash_seed="random", malloc=environments.ONE_ARENA + environments.MAPPED)
SOME = ("MedLDARegressor mh, large", "LabeledLDA, many", "VariationalLDA scvb0 stream, large", "HMM em, small", "texts")


def test_results_are_the_same_in_two_environments() -> None:
    one, many = (environments.run_in(environment, SOME) for environment in (ONE, MANY))
    assert len(one) > 40
    assert one.keys() == many.keys()
    assert {name for name in one if one[name] != many[name]} == set()


def test_the_table_has_every_model_and_sampler() -> None:
    names = list(cases.cases())
    for sampler in sampler_names():
        assert {f"LDA {sampler}, {size}" for size in ("small", "large")} <= set(names)
    for mode in ALL_MODES:
        assert any(name.startswith(f"VariationalLDA {mode}, ") for name in names)
    for model in topicloom.models.__all__:
        assert any(name.startswith(f"{model} ") for name in names), model
    found = {what: {getattr(environment, what) for environment in environments.ENVIRONMENTS} for what in ONE._fields}
    assert found["n_jobs"] == {1, 2, 3, 4}
    assert found["blas"] == {1, 2}
    assert len(found["hash_seed"]) == len(found["malloc"]) - 1 == 3
    assert cases.corpus("large").n_docs > 10_000


def test_a_digest_sees_every_bit() -> None:
    x = np.arange(3.0)
    others = [np.nextafter(x, 9), x.astype(np.float32), x[:, None], [x], {"x": x}, x.tolist(), x[::-1], -x]
    assert len({environments.digest(value) for value in (x, *others)}) == 1 + len(others)
    assert environments.digest(x.copy()) == environments.digest(x)


# -- where BLAS may be ----------------------------------------------------------------------------------------------

LIBRARIES = {
    "convolve", "corrcoef", "correlate", "cov", "dot", "inner", "linalg", "lstsq", "matmul", "matvec", "optimize",
    "polyfit", "stats", "tensordot", "vdot", "vecdot", "vecmat",
}  # fmt: skip
NO_BLAS = {"base", "exceptions", "utils"}  # of scikit-learn; all else of it needs a reason
ALLOWED = {
    "labeled/calibration.py": "within one_blas_thread",
    "labeled/label_rules.py": "within one_blas_thread; and products and norms of sparse matrices, which need no BLAS",
    "hmm/posterior.py": "an assignment of whole numbers, by comparisons and additions",
    "medlda/model.py": "accuracy: counts",
    "medlda/regressor.py": "r2_score: means by NumPy",
    "diagnostics/alignment.py": "an assignment of whole numbers, by comparisons and additions",
    "diagnostics/search_measures.py": "within one_blas_thread",
    "diagnostics/topic_flows.py": "HiGHS, which has an algebra of its own and one thread",
    "diagnostics/word_lists.py": "ranks",
    "evaluation/labels.py": "scores from counts and ranks",
    "evaluation/clusters.py": "silhouettes of given distances: sums by NumPy",
    "evaluation/coherence.py": "norm with an axis, which NumPy computes itself",
    "evaluation/reports.py": "measures from counts, and products of whole numbers, which need no BLAS",
    "evaluation/topic_maps.py": "within one_blas_thread",
    "explore/families.py": "a product of sparse matrices of whole numbers, which needs no BLAS",
}


def blas_in(source: str) -> list[int]:
    """Lines that may call BLAS."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        product = isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult)
        called = isinstance(node, ast.Attribute) and node.attr in LIBRARIES
        asked = isinstance(node, ast.keyword) and node.arg == "optimize"  # of einsum
        if product or called or asked or (isinstance(node, ast.Import | ast.ImportFrom) and _imports_blas(node)):
            lines.append(node.lineno)
    return lines


def _imports_blas(node: ast.Import | ast.ImportFrom) -> bool:
    module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
    for name in node.names:
        parts = f"{module}.{name.name}".strip(".").split(".")
        if parts[0] in ("numpy", "scipy") and LIBRARIES & {*parts}:
            return True
        if parts[0] == "sklearn" and not NO_BLAS & {*parts}:
            return True
    return False


@pytest.mark.parametrize(
    "line",
    [
        "a @ b", "a @= b", "np.dot(a, b)", "a.dot(b)", "np.linalg.norm(a)", "np.einsum('i,i', a, b, optimize=True)",
        "from numpy import dot", "import scipy.linalg", "from scipy import optimize", "import sklearn.cluster",
        "from sklearn.linear_model import Ridge", "from sklearn import metrics",
    ],
)  # fmt: skip
def test_a_use_of_blas_is_seen(line: str) -> None:
    assert blas_in(line) == [1]
    assert blas_in(f"import numpy as np\ndef f(a):\n    {line}") == [3]


@pytest.mark.parametrize("line", ["a * b", "np.einsum('i,i', a, b)", "from sklearn.utils import check_array", "@f"])
def test_other_lines_are_not_taken_for_it(line: str) -> None:
    assert blas_in(f"{line}\ndef f(): pass") == []


def test_no_number_comes_from_blas_on_several_threads() -> None:
    sources = {path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    found = {name: lines for name, source in sources.items() if (lines := blas_in(source))}
    assert {name: lines for name, lines in found.items() if name not in ALLOWED} == {}, "use numerics.product or np.sum"
    assert found.keys() == ALLOWED.keys()  # no reason outlives its use


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
AVERAGED = QUICK | {"burn_in": 3, "thin": 1}
MODELS: dict[str, Callable[[], Any]] = {
    "LDA": lambda: LDA(3, n_chains=2, **QUICK).fit(cases.corpus("tiny")),
    "VariationalLDA": lambda: VariationalLDA(3, method="cvb0", tol=0.0, **QUICK).fit(cases.corpus("tiny")),
    "VariationalLDA stream": lambda: VariationalLDA(3, method="scvb0", random_state=0).partial_fit(
        cases.corpus("tiny")
    ),
    "CompoundLDA": lambda: CompoundLDA(3, **QUICK).fit(cases.corpus("tiny")),
    "CompoundLDA vem": lambda: CompoundLDA(3, method="vem", method_options={"tol": 0.0}, **QUICK).fit(
        cases.corpus("tiny")
    ),
    "LabeledLDA": lambda: LabeledLDA(**AVERAGED).fit(cases.labeled("tiny")),
    "PriorLDA": lambda: PriorLDA(method="cvb0", **AVERAGED).fit(cases.labeled("tiny")),
    "DependencyLDA": lambda: DependencyLDA(label_sweeps=5, **AVERAGED).fit(cases.labeled("tiny")),
    "MedLDAClassifier": lambda: MedLDAClassifier(3, n_chains=2, **AVERAGED).fit(
        cases.corpus("tiny"), cases.first_labels("tiny")
    ),
    "MedLDAClassifier ovr": lambda: MedLDAClassifier(3, multi_class="ovr", **AVERAGED).fit(
        cases.corpus("tiny"), cases.first_labels("tiny")
    ),
    "MedLDARegressor": lambda: (
        MedLDARegressor(3, **AVERAGED).fit(cases.corpus("tiny"), cases.numbers("tiny")).fit_intervals(0.5)
    ),
    "HDP": lambda: HDP(3, n_chains=2, **QUICK).fit(cases.corpus("tiny")),
    "HMM": lambda: HMM(2, n_chains=2, **QUICK).fit([[0, 1, 1, 0] * 9]),
    "HMM cvb0": lambda: HMM(2, method="cvb0", tol=0, **QUICK).fit([[0, 1, 1, 0] * 9]),
    "HMM em": lambda: HMM(2, method="em", tol=0, **QUICK).fit([[0, 1, 1, 0] * 9]),
}
NOT_COVERED = {  # what a model's file holds beside learned numbers
    "alphabet", "classes", "collections", "vocabulary",  # names
    "empty_docs", "unlabeled_docs", "group_of", "kind",  # what the data were
    "pi_sweeps",  # at which sweeps mixtures were recorded
}  # fmt: skip
PREDICTED_WITH = {
    "LDA": ["alpha_", "beta_", "log_joint_"],
    "LabeledLDA": ["threshold_", "_meta", "_calibration", "label_counts_"],
    "DependencyLDA": ["threshold_", "_meta", "_calibration", "_label_by_word", "_label_alpha"],
    "CompoundLDA": ["gamma_", "pi_", "pi_draws_", "collection_prior_", "collection_docs_"],
    "MedLDAClassifier": ["_by_words", "_etas"],
    "MedLDARegressor": ["_by_words", "_etas", "intercept_", "_scale", "_misses"],
    "HDP": ["alpha_", "beta_", "_level"],
    "HMM": ["initial_", "transition_", "emission_", "log_joint_"],
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


def read_anew(model: Any, arrays: dict[str, Any]) -> Any:
    """The model that a file with these arrays gives."""
    found = copy.copy(model)
    found.log_joint_ = arrays["log_joint"]
    if isinstance(model, HMM):
        found.initial_, found.transition_, found.emission_ = (arrays[n] for n in ("initial", "transition", "emission"))
    else:
        found._set_arrays(arrays["by_word"], arrays["alpha"], arrays["beta"])
        found._set_own_arrays(arrays)
    return found


@pytest.mark.filterwarnings("ignore::topicloom.errors.LostClassesWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_fingerprint_covers_every_number_of_a_models_file(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    whole = model.fingerprint_
    model.save(tmp_path / "model")
    assert topicloom.load(tmp_path / "model").fingerprint_ == whole
    arrays, _ = model._model_part()
    assert read_anew(model, arrays).fingerprint_ == whole
    covered = {key for key in arrays if key not in NOT_COVERED and not key.startswith("trace_")}
    assert len(covered) >= 4
    for key in covered:
        assert read_anew(model, arrays | {key: changed(arrays[key])}).fingerprint_ != whole, key


@pytest.mark.filterwarnings("ignore::topicloom.errors.LostClassesWarning")
@pytest.mark.parametrize("name", PREDICTED_WITH)
def test_a_fingerprint_covers_every_number_that_is_predicted_with(name: str) -> None:
    model = MODELS[name]()
    whole = model.fingerprint_
    for attribute in PREDICTED_WITH[name]:
        before = getattr(model, attribute)
        setattr(model, attribute, changed(before))
        assert model.fingerprint_ != whole, attribute
        setattr(model, attribute, before)
    assert model.fingerprint_ == whole


# -- what is kept of a chain ----------------------------------------------------------------------------------------

CHAINS: dict[str, Callable[..., Any]] = {
    **{
        f"LDA {sampler}": lambda sampler=sampler, **own: LDA(3, sampler=sampler, **QUICK, **own).fit(
            cases.corpus("tiny")
        )
        for sampler in sampler_names()
    },
    **{
        f"CompoundLDA {method}": lambda method=method, **own: CompoundLDA(
            3, method=method, collection_prior=None, **QUICK, **own
        ).fit(cases.corpus("tiny"))
        for method in ("ags", "mgs")
    },
    "PriorLDA": lambda **own: PriorLDA(holdout=0.0, **QUICK, **own).fit(cases.labeled("tiny")),
    **{
        f"MedLDAClassifier {sampler}": lambda sampler=sampler, **own: MedLDAClassifier(
            3, sampler=sampler, **QUICK, **own
        ).fit(cases.corpus("tiny"), cases.first_labels("tiny"))
        for sampler in ("mh", "dense")
    },
    **{
        f"HMM {sampler}": lambda sampler=sampler, **own: HMM(2, sampler=sampler, **QUICK, **own).fit([[0, 1, 1, 0] * 9])
        for sampler in ("collapsed", "partial", "blocked")
    },
}


@pytest.mark.filterwarnings("ignore::topicloom.errors.LostClassesWarning")
@pytest.mark.parametrize("name", CHAINS)
def test_burn_in_and_estimator_change_what_is_computed_and_never_the_chain(name: str) -> None:
    options = [{"burn_in": None}, {"burn_in": 1}, {"burn_in": 4, "estimator": "standard"}]
    chains = [CHAINS[name](**own).chains_[0] for own in options]
    for chain in chains[1:]:
        np.testing.assert_array_equal(chain.state.z, chains[0].state.z)
        if name.startswith("CompoundLDA"):
            for array in ("pi", "phi", "log_step", "acceptance", "alpha"):
                np.testing.assert_array_equal(getattr(chain.extra, array), getattr(chains[0].extra, array))
