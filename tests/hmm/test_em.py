"""Baum-Welch: it never goes down, keeps the best restart, and says when it has not converged."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from topicloom import HMM
from topicloom.errors import InputError
from topicloom.hmm import em as hmm_em
from topicloom.hmm.state import make_hmm_prior, make_known


@pytest.mark.parametrize("prior", [1.0, 2.5])
def test_em_never_goes_down(prior: float, sequences) -> None:
    model = HMM(
        3, method="em", max_iter=80, tol=0, trace_every=1, transition_prior=prior, emission_prior=prior,
        random_state=1,
    ).fit(sequences)  # fmt: skip
    values = np.array(model.trace_.log_joint)
    assert np.all(np.diff(values) > -1e-8)
    assert model.log_joint_[0] >= values[-1] - 1e-8


def test_em_stands_still_at_a_maximum(sequences) -> None:
    """Where it has converged the expected counts give the parameters back."""
    model = HMM(2, method="em", max_iter=5000, tol=1e-12, random_state=1).fit(sequences)
    assert model.converged_
    corpus = model.corpus_
    prior = make_hmm_prior(np.ones(2), np.ones((2, 2)), np.ones((2, 4)))
    given = make_known(model.initial_, model.transition_, model.emission_)
    after, value = hmm_em.iterate(corpus, given, prior)
    assert value == pytest.approx(model.score(sequences), abs=1e-9)
    assert np.abs(after.emission - given.emission).max() < 1e-6


def test_restarts_keep_the_best(sequences) -> None:
    model = HMM(4, method="em", n_chains=5, max_iter=60, tol=0, random_state=2).fit(sequences)
    assert len(set(model.log_joint_)) > 1
    assert model.score(sequences) == pytest.approx(model.log_joint_.max())


def test_em_that_has_not_converged_says_so(sequences) -> None:
    with pytest.warns(ConvergenceWarning, match="raise one of them"):
        HMM(2, method="em", max_iter=2, start={"n_runs": 1}, random_state=0).fit(sequences)


def test_impossible_sequences() -> None:
    model = HMM(1, method="em", alphabet=3, random_state=0).fit([[0, 1, 0, 1]])
    assert model.score([0, 2]) == -np.inf
    with pytest.raises(InputError, match="sequence 1 has probability 0"):
        model.predict([[0], [0, 2]])
    with pytest.raises(InputError, match="sequence 0 has probability 0"):
        model.predict_proba([2])
