"""Priors that chains on workers learn, and when such chains stop: the bits of one process, after losses too."""

import numpy as np
import pytest

from tests.scale.test_chain import CORPUS, GROUPS, Failing, same
from topicloom import LDA, CompoundLDA, Converged
from topicloom.engine import places
from topicloom.errors import WorkersLostWarning
from topicloom.scale.place import Workers

LONG = {"n_shards": 4, "max_iter": 41, "trace_every": 10, "random_state": 1}
RULE = Converged(max_rhat=3.0, min_ess=4, first=16, max_sweeps=64)
CASES = {
    "both": (lambda: LDA(6, learn_priors=True, **LONG), (), {}),
    "beta": (lambda: LDA(6, doc_topic_prior=0.2, sampler="sparse", **LONG), (), {}),
    "alpha": (lambda: LDA(6, topic_word_prior=0.1, seed_words={0: [CORPUS.vocabulary[0]]}, **LONG), (), {}),
    "compound": (lambda: CompoundLDA(6, learn_priors=True, **LONG), (), {"groups": GROUPS}),
    "until chains agree": (lambda: LDA(3, n_chains=2, **LONG | {"max_iter": RULE, "trace_every": 2}), (), {}),
}


def all_same(one, two) -> bool:
    learned = [name for name in ("alpha_", "beta_", "gamma_", "collection_prior_") if hasattr(one, name)]
    return (
        same(one, two)
        and one.n_iter_ == two.n_iter_
        and all(np.array_equal(getattr(one, name), getattr(two, name)) for name in learned)
    )


@pytest.mark.parametrize("case", CASES)
def test_what_is_learned_has_the_bits_of_one_process(case: str) -> None:
    make, args, given = CASES[case]
    one = make().fit(CORPUS, *args, **given)
    whole = Failing(3, set())
    with places.using(Workers(whole)):
        assert all_same(one, make().fit(CORPUS, *args, **given))
    lost = {whole.calls // 3, whole.calls - 20}  # in a sweep, and where counts are read in the end
    with places.using(Workers(Failing(3, lost))), pytest.warns(WorkersLostWarning):
        assert all_same(one, make().fit(CORPUS, *args, **given))
