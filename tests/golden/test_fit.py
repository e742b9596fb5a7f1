"""Small fits, pinned: the same seed gives the same model in every version that claims to."""

import numpy as np
import pytest

from topicloom import LDA
from topicloom.datasets import synthetic_lda

# Topic sizes, a weighted sum of all assignments, and the joint log probability.
PINNED = {
    "dense": ([337, 327, 336], 539167, -1396.2086536493553),
    "sparse": ([341, 323, 336], 536480, -1399.797447718984),
}


@pytest.mark.parametrize("sampler", PINNED)
def test_assignments_are_pinned(sampler: str) -> None:
    sizes, weighted_sum, log_joint = PINNED[sampler]
    corpus = synthetic_lda(50, 30, 3, doc_length=20, seed=0).corpus
    model = LDA(
        3, doc_topic_prior=0.2, topic_word_prior=0.1, sampler=sampler, max_iter=25, random_state=42
    ).fit(corpus)  # fmt: skip
    z = model.chains_[0].state.z
    assert np.bincount(z, minlength=3).tolist() == sizes
    assert int((z.astype(np.int64) * np.arange(1, 1001)).sum()) == weighted_sum
    assert model.log_joint_[0] == pytest.approx(log_joint, rel=1e-12)
