"""Drawing weights of topics and concentrations, given the topics of all tokens (Teh et al. 2006, section 5.3).

The numbers of tables m_k of a topic over all documents are drawn by the Antoniak scheme. Given these,

    γ | m:      K ~ CRP(γ) with Σm customers,
    β | m, γ:   (β_1, …, β_K, β_rest) ~ Dirichlet(m_1, …, m_K, γ),
    α₀ | m:     each document is a Chinese restaurant with its share of the tables,

so that the concentrations are drawn by auxiliary variables under gamma priors (Escobar and West 1995).
"""

from math import log
from typing import NamedTuple

import numpy as np

from topicloom._types import FloatArray, Int64Array, UInt64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.documents_by_count import documents_by_count
from topicloom.engine.prior import Prior
from topicloom.engine.tables import draw_tables
from topicloom.hdp.state import SMALLEST, HDPState, prior_of
from topicloom.numerics.jit import kernel
from topicloom.numerics.rng import uniform
from topicloom.numerics.variates import dirichlet, gamma, log_gamma


class GammaPrior(NamedTuple):
    """Of a concentration: shape and rate. A shape of 0 says that the concentration is given."""

    shape: float
    rate: float


@kernel
def draw_concentration(stream: UInt64Array, sizes: Int64Array, tables: float, now: float, by: GammaPrior) -> float:
    """A concentration of which restaurants with so many customers each opened so many tables in all.

    With w_j ~ Beta(now + 1, n_j) and s_j ~ Bernoulli(n_j / (n_j + now)) it is a gamma variate of shape a + m − Σs and
    rate b − Σ log w.
    """
    shape, rate = by.shape, by.rate
    for j in range(sizes.shape[0]):
        n = sizes[j]
        if n > 0:
            x, y = gamma(stream, now + 1.0), gamma(stream, float(n))
            rate -= log(x / (x + y))
            shape -= uniform(stream) * (n + now) < n
    return float(np.exp(log_gamma(stream, shape + tables)) / rate)


def draw_weights(
    corpus: Corpus, state: HDPState, prior: Prior, concentrations: tuple[GammaPrior, GammaPrior], stream: UInt64Array,
    n_jobs: int = 1,
) -> HDPState:  # fmt: skip
    """The state with weights and concentrations drawn anew; those of documents come first of ``concentrations``."""
    tables = np.empty(len(state.topic))
    draw_tables(documents_by_count(corpus, state.z, prior_of(state, prior), n_jobs), state.alpha, stream, tables)
    in_all, (_, of_docs, of_topics) = float(tables.sum()), state.level.tolist()
    by_doc, by_topic = concentrations
    if by_topic.shape > 0:
        of_topics = draw_concentration(stream, np.array([int(in_all)]), float(len(tables)), of_topics, by_topic)
    if by_doc.shape > 0:
        of_docs = draw_concentration(stream, corpus.doc_lengths, in_all, of_docs, by_doc)
    shares = np.empty(len(tables) + 1)
    dirichlet(stream, np.append(tables, of_topics), shares)
    alpha: FloatArray = np.maximum(of_docs * shares[:-1], SMALLEST)
    return state._replace(alpha=alpha, level=np.array([of_docs * shares[-1], of_docs, of_topics]))
