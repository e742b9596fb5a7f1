"""What is latent in a hierarchical Dirichlet process: the tokens' topics, and the weights of these topics.

The topics of a state are those that have tokens, numbered from 0. All others of the process, of which there are no end,
have one weight together.
"""

from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.prior import Prior
from topicloom.engine.state import State, rebuild_counts

REST, DOC, TOPIC = 0, 1, 2  # places in ``HDPState.level``
MOST_TOPICS = 60_000  # so that a topic's number has 16 bits
SMALLEST = 1e-300  # a topic's weight is kept above this


class HDPState(NamedTuple):
    """Counts of the topics that have tokens, and what the process knows of them."""

    z: AnyArray  # [N] uint16
    word_topic: Int32Array  # [V, K]
    topic: Int64Array  # [K] all positive
    alpha: FloatArray  # [K] weights β_k times the concentration of documents: the prior of each document
    level: FloatArray  # [3] the same of all topics without tokens; concentrations of documents α₀ and of topics γ

    def as_dense(self) -> State:
        """The counts alone, as LDA has them."""
        return State(self.z, self.word_topic, self.topic)

    def count_histogram(self) -> Int64Array:
        """How often each value n_kv > 0 occurs, indexed by the value."""
        return self.as_dense().count_histogram()

    def log_joint_words(self, words: tuple[int, int], prior: Prior, total: float = 0.0) -> float:
        """As of ``State``."""
        return self.as_dense().log_joint_words(words, prior, total)


def counted(corpus: Corpus, z: AnyArray, alpha: FloatArray, level: FloatArray) -> HDPState:
    """The state of assignments to topics with these weights, each of which has tokens."""
    return HDPState(*rebuild_counts(corpus, z, len(alpha)), alpha, level)


def prior_of(state: HDPState, prior: Prior) -> Prior:
    """The prior of documents and of words as LDA has it: α of the topics with tokens."""
    k = len(state.alpha)
    beta_sum = np.full(k, prior.beta.sum())
    return prior._replace(alpha=state.alpha[None, :].copy(), beta_sum=beta_sum, boost=np.zeros((0, k)))
