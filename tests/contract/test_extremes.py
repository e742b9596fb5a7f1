"""Numbers at the ends of what floats hold are refused, or nothing is published; in bounds, fits end and are sound."""

import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints, is_typeddict

import numpy as np
import pytest

import topicloom as tl
from tests.contract import extremes
from topicloom.compound.mixtures import draw_alpha
from topicloom.engine import tables
from topicloom.engine.estimator.parameters import LEAST, MOST
from topicloom.errors import InputError
from topicloom.hmm.cvb0 import Beliefs
from topicloom.hmm.sampler import HMMCounts
from topicloom.hmm.state import Known
from topicloom.lda.variational import collapsed as variational_collapsed
from topicloom.lda.variational import stochastic
from topicloom.medlda import augment
from topicloom.numerics import variates as gamma
from topicloom.numerics.rng import stream

X, GROUPS, LABELS, CLASSES, NUMBERS = (
    extremes.COUNTS, extremes.GROUPS, extremes.LABELS, extremes.CLASSES, extremes.NUMBERS,
)  # fmt: skip
QUICK = {"max_iter": 3, "random_state": 0}
MODELS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = {
    "LDA": (lambda **more: tl.LDA(3, **QUICK, **more), (X,), {}),
    "VariationalLDA": (lambda **more: tl.VariationalLDA(3, **QUICK, **{"tol": 0.0, **more}), (X,), {}),
    "CompoundLDA": (lambda **more: tl.CompoundLDA(3, **QUICK, **more), (X,), {"groups": GROUPS}),
    "LabeledLDA": (lambda **more: tl.LabeledLDA(burn_in=None, **QUICK, **more), (X, LABELS), {}),
    "PriorLDA": (lambda **more: tl.PriorLDA(burn_in=None, **QUICK, **more), (X, LABELS), {}),
    "DependencyLDA": (lambda **more: tl.DependencyLDA(burn_in=None, **QUICK, **more), (X, LABELS), {}),
    "MedLDAClassifier": (lambda **more: tl.MedLDAClassifier(3, burn_in=None, **QUICK, **more), (X, CLASSES), {}),
    "MedLDARegressor": (lambda **more: tl.MedLDARegressor(3, burn_in=None, **QUICK, **more), (X, NUMBERS), {}),
    "HDP": (lambda **more: tl.HDP(3, **QUICK, **more), (X,), {}),
    "HMM": (lambda **more: tl.HMM(2, **QUICK, **more), (extremes.SEQUENCES,), {}),
}
POSITIVE = {  # from LEAST to MOST
    "doc_topic_prior", "topic_word_prior", "concentration", "collection_prior", "collection_prior['shape']",
    "collection_prior['rate']", "doc_concentration", "doc_concentration['shape']", "doc_concentration['rate']",
    "topic_concentration", "topic_concentration['shape']", "topic_concentration['rate']",
    "seed_weight", "smoothing", "loss_weight", "weight_precision", "initial_prior",
    "transition_prior", "emission_prior",
}  # fmt: skip
UP_TO_MOST = {"frequency_weight", "learning_offset", "total_samples", "class_weight", "epsilon"}
HARMLESS = {  # shares, tolerances that are compared with alone, and given mixtures, which sum to 1
    "holdout", "learning_decay", "mean_change_tol", "mixtures", "tol", "method_options['tol']",
    "method_options['mean_change_tol']", "method_options['target_acceptance']",
    "predict_options['tol']",
}  # fmt: skip


def _takes_floats(parameter: inspect.Parameter) -> bool:
    return "float" in str(parameter.annotation) or parameter.name == "class_weight"


def _with_keys(parameter: inspect.Parameter) -> Iterator[str]:
    """The parameter, if it takes floats, and the keys of a dict of options that do."""
    yield from [parameter.name] if _takes_floats(parameter) else []
    for options in filter(is_typeddict, get_args(parameter.annotation)):
        for key, kind in get_type_hints(options).items():
            yield from [f"{parameter.name}['{key}']"] if kind is float else []


PARAMETERS = [
    (model, name)
    for model in MODELS
    for parameter in inspect.signature(getattr(tl, model)).parameters.values()
    for name in _with_keys(parameter)
]


def test_every_number_that_a_model_takes_is_in_one_of_the_lists() -> None:
    assert {name for _, name in PARAMETERS} == POSITIVE | UP_TO_MOST | HARMLESS


def _given(name: str, value: float) -> dict[str, Any]:
    """The parameter, and what makes it count."""
    if "[" in name:
        parameter, key = name.rstrip("']").split("['")
        return {parameter: {key: value}}
    return {name: {0: value} if name == "class_weight" else value} | (
        {"method": "scvb0"} if name in ("learning_offset", "total_samples") else
        {"seed_words": {0: ["word1"]}} if name == "seed_weight" else {}
    )  # fmt: skip


@pytest.mark.parametrize(("model", "name"), PARAMETERS)
def test_what_floats_can_hold_and_calculations_cannot_is_refused(model: str, name: str) -> None:
    make, data, more = MODELS[model]
    wrong = [1e300, 1e101, np.inf, np.nan] if name in POSITIVE | UP_TO_MOST else []
    wrong += [1e-300, 1e-20, 0.0, -1.0] if name in POSITIVE else []
    for value in wrong:
        given = make(**_given(name, value))
        with pytest.raises(InputError, match=re.escape(name)) as refused:
            given.fit(*data, **more)
        assert "1e+12" in str(refused.value) or name == "epsilon"
        assert "1e-12" in str(refused.value) or name not in POSITIVE
        assert not hasattr(given, "seed_")


@pytest.mark.parametrize("prior", ["doc_topic_prior", "topic_word_prior", "collection_prior"])
def test_one_value_of_a_vector_is_enough(prior: str) -> None:
    vector = np.ones(X.shape[1] if prior == "topic_word_prior" else 3)
    vector[1] = 1e300
    model = tl.CompoundLDA(3, **QUICK, **{prior: vector}) if prior[0] == "c" else tl.LDA(3, **QUICK, **{prior: vector})
    with pytest.raises(InputError, match=rf"{prior} contains 1e\+300; every value must be from 1e-12 to 1e\+12"):
        model.fit(X, **({"groups": GROUPS} if prior[0] == "c" else {}))


def test_weights_of_words_are_bounded() -> None:
    words, ptr, names = np.array([0, 1, 2]), np.array([0, 2, 3]), ("a", "b", "c")
    huge = tl.Corpus(words, ptr, names, weights=np.array([0.5, 1e300, 1.0]))
    tiny = tl.Corpus(words, ptr, names, weights=np.full(3, 1e-100))
    fitted = tl.VariationalLDA(2, method="cvb0", learn_priors=False, max_iter=50, random_state=0).fit(
        np.array([[9.5, 0], [0, 9]])
    )
    for mode in ("cvb0", "vb", "svb"):
        with pytest.raises(
            InputError, match=r"document 0: the weight 1e\+300 for 'b' is not usable; weights must be at"
        ):
            tl.VariationalLDA(2, method=mode).fit(huge)
        with pytest.raises(
            InputError, match=r"all weights together are 3e-100; they must be at least 1e-12\. Multiply"
        ):
            tl.VariationalLDA(2, method=mode).fit(tiny)
    with pytest.raises(InputError, match=r"document 0: the weight 1e\+300 for 'b'"):
        tl.LabeledLDA(method="cvb0").fit(huge, [["x"], ["y"]])
    new = tl.Corpus(np.array([0]), np.array([0, 1]), fitted.vocabulary_, weights=np.array([1e300]))
    with pytest.raises(InputError, match="is not usable"):
        fitted.transform(new)


@pytest.mark.parametrize(("scale", "message"), [
    (1e300, r"entry \d+ of y is .*e\+300; numbers must be from -1e\+100 to 1e\+100"),
    (1e-300, "the numbers in y differ by .* at most"),
])  # fmt: skip
def test_numbers_to_predict_are_bounded(scale: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        tl.MedLDARegressor(3, burn_in=None, **QUICK).fit(X, NUMBERS * scale)
    one = np.zeros(len(X))
    one[3] = 1e300
    with pytest.raises(InputError, match=r"entry 3 of y is 1e\+300"):
        tl.MedLDARegressor(3, burn_in=None, **QUICK).fit(X, one)


# -- nothing is published that is not finite -------------------------------------------------------------------------


def _spoil(chain: Any) -> None:
    """What a number that overflowed would leave in the last state."""
    if chain.sweep < QUICK["max_iter"]:
        return
    if hasattr(chain.prior, "beta"):
        chain.prior = chain.prior._replace(beta=chain.prior.beta * np.nan)
    for name in ("eta", "word", "counts"):
        if hasattr(chain.state, name):
            getattr(chain.state, name)[:] = np.nan
    if isinstance(chain.state, Known):
        chain.state = Known(chain.state.moves * np.nan, chain.state.own)
    elif isinstance(chain.state, Beliefs):
        chain.state.pairs[:] = np.nan
    elif isinstance(chain.kept, HMMCounts):
        chain.kept = HMMCounts(chain.kept.moves, chain.kept.emission * np.nan, chain.kept.n_samples)


SPOILT = [
    *((model, {}) for model in MODELS if model not in ("HMM", "VariationalLDA")),
    *(("VariationalLDA", {"method": mode}) for mode in extremes.MODES),
    *(("CompoundLDA", {"method": mode}) for mode in ("mgs", "vem")),
    ("LabeledLDA", {"method": "cvb0"}),
    ("HMM", {"burn_in": 1, "thin": 1}),
    ("HMM", {"method": "em", "tol": 0.0}),
    ("HMM", {"method": "cvb0", "tol": 0.0}),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::RuntimeWarning")
@pytest.mark.filterwarnings(
    "ignore::topicloom.errors.AlikeTopicsWarning", "ignore::topicloom.errors.LostClassesWarning"
)
@pytest.mark.parametrize(("model", "options"), SPOILT, ids=str)
def test_a_model_with_a_number_that_is_not_finite_is_not_published(
    model: str, options: dict[str, Any], tmp_path: Path
) -> None:
    make, data, more = MODELS[model]
    made = make(**options, checkpoint_dir=tmp_path / "run")
    with pytest.raises(InputError, match=rf"the fit of {model} ended in numbers that are not finite"):
        made.fit(*data, **more, callbacks=[_spoil])
    assert not hasattr(made, "seed_")
    assert not hasattr(made, "log_joint_")
    with pytest.raises(tl.errors.StorageError, match="has not finished"):
        tl.load(tmp_path / "run")
    fitted = make(**options).fit(*data, **more)
    before = fitted.fingerprint_, fitted.log_joint_
    with pytest.raises(InputError, match="not finite"):
        fitted.fit(*data, **more, callbacks=[_spoil])
    assert fitted.fingerprint_ == before[0]
    assert fitted.log_joint_ is before[1]


@pytest.mark.parametrize("mode", ["scvb0", "svb"])
def test_a_stream_stays_as_it_was_where_a_batch_ends_in_no_number(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tl.VariationalLDA(3, method=mode, random_state=0, total_samples=len(X)).partial_fit(X)
    before, right = model.fingerprint_, stochastic.learn_batch

    def wrong(batch: Any, state: Any, *args: Any) -> Any:
        state.counts[:] = np.nan
        return right(batch, state, *args)

    monkeypatch.setattr(stochastic, "learn_batch", wrong)
    with pytest.raises(InputError, match="not finite"):
        model.partial_fit(X)
    monkeypatch.undo()
    assert model.fingerprint_ == before
    assert np.isfinite(model.partial_fit(X).components_).all()


def test_an_iteration_that_ends_in_no_number_stops_the_run() -> None:
    """Within all bounds, and still too small for each other: exp Ψ of every parameter is 0."""
    with pytest.raises(InputError, match=r'method="vb" came to numbers that are not finite in iteration \d+: priors'):
        tl.VariationalLDA(3, method="vb", doc_topic_prior=LEAST, topic_word_prior=LEAST, random_state=0).fit(
            extremes.WEIGHTS["small"]
        )


# -- at the ends of the bounds ---------------------------------------------------------------------------------------


def test_every_model_ends_and_is_sound_at_the_ends_of_its_bounds() -> None:
    """In another process, which is ended from outside if a compiled loop does not end."""
    here = Path(extremes.__file__)
    done = subprocess.run([sys.executable, str(here)], capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    made, *others = done.stdout.split("\n")
    assert int(made) > 1500
    refused = [line for line in others if line and not line.startswith("refused vb, small, α 1e-12, β 1e-12")]
    assert refused == []


@pytest.mark.parametrize("mode", ["cvb0", "cvb"])
def test_rounding_takes_no_more_than_there_is(mode: str) -> None:
    """Weights of 21 orders of magnitude: what is taken out of a sum is more than what is left of a tiny prior."""
    weights = np.random.default_rng(1).random((12, 8)) * 10.0 ** np.random.default_rng(2).integers(-12, 9, (12, 8))
    for seed in range(4):
        model = tl.VariationalLDA(3, method=mode, topic_word_prior=LEAST, max_iter=30, tol=0.0, random_state=seed).fit(
            weights
        )
        assert model.components_.min() > 0
        assert model.doc_topic_.min() >= 0
        assert model.chains_[0].state.gamma.min() >= 0


def test_a_count_below_its_token_still_weighs() -> None:
    share, left, weight = np.array([0.5, 0.5]), np.array([0.5 - 1e-16, 0.7]), np.empty(2)
    total = variational_collapsed.weigh_mean(share, 1.0, left, left, left, weight)
    assert weight.min() > 0
    assert total == weight.sum()


# -- draws end -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [np.nan, np.inf, 1e300, 1.0])
def test_gamma_variates_end(shape: float) -> None:
    drawn = gamma.gamma(stream(1), shape)
    assert drawn > 0 or not shape < np.inf


def test_binomial_variates_end() -> None:
    assert tables.binomial(stream(1), 1000, np.nan) == 0
    assert 0 <= tables.binomial(stream(1), 1 << 40, 1e-12) < 60


@pytest.mark.parametrize("tilt", [999.0, 1001.0, 1e6, 1e12, MOST * MOST])
@pytest.mark.parametrize("shape", [LEAST, 1.0, MOST])
def test_polya_gamma_variates_end(shape: float, tilt: float) -> None:
    assert 0 <= augment.polya_gamma(stream(1), shape, tilt) < np.inf


def test_a_slice_that_shrinks_to_nothing_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = np.log(np.array([[0.3, 0.7]])) * np.nan  # no density is higher than another
    assert draw_alpha(nowhere, 1.5, (1.0, 1.0), stream(1)) == 1.5
    assert 0 < draw_alpha(np.log(np.array([[0.3, 0.7]])), 1.5, (1.0, 1.0), stream(1)) < 100
