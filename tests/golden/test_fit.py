"""A small fit, pinned: the same seed gives the same model in every version that claims to."""

import numpy as np
import pytest

from topicloom import LDA
from topicloom.datasets import synthetic_lda


@pytest.fixture(scope="module")
def model() -> LDA:
    corpus = synthetic_lda(50, 30, 3, doc_length=20, seed=0).corpus
    return LDA(3, doc_topic_prior=0.2, topic_word_prior=0.1, max_iter=25, random_state=42).fit(corpus)


def test_assignments_are_pinned(model: LDA) -> None:
    z = model.chains_[0].state.z
    assert np.bincount(z, minlength=3).tolist() == TOPIC_SIZES
    assert int((z.astype(np.int64) * np.arange(1, 1001)).sum()) == WEIGHTED_SUM
    assert model.log_joint_[0] == pytest.approx(LOG_JOINT, rel=1e-12)


TOPIC_SIZES: list[int] = [334, 324, 342]
WEIGHTED_SUM = 465860
LOG_JOINT = -1395.7452212155038
