"""What samplers by lists know of each topic, and what else they write into while a sweep lasts.

All of a topic lies in one cache line: with many topics each line may have to come from far.
"""

from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.engine.prior import Prior
from topicloom.engine.threads import private
from topicloom.numerics.jit import bare_kernel

# n_k, Σβ, 1 / (n_k + Σβ), the same with one token less, which is ready before a token asks for it, and of the current
# document α_k, n_dk and the topic's place among the document's; and the share that stands in place of 1 above
TOTAL, BETA_SUM, INVERSE, INVERSE_OUT, ALPHA, DOC, PLACE, SHARE = range(8)
NOWHERE = -1.0  # the place of a topic that the document has not had
LINE = 8  # float64 numbers in a cache line, which is what a topic has
BLOCK = 8  # log₂ of the topics whose factors are summed together


class ListScratch(NamedTuple):
    """Scratch of one thread."""

    lines: FloatArray  # [K, LINE] a line per topic
    coef: FloatArray  # [K] (n_dk + α_k) / (n_k + Σβ) of the current document
    blocks: FloatArray  # sums of ``coef`` over blocks of topics
    weight: FloatArray  # [K + 1] of the entries of a list, or of the topics of a document
    met: AnyArray  # [K + 1] the topics that the document has or had, each once


def n_blocks(n_topics: int) -> int:
    return ((n_topics - 1) >> BLOCK) + 1


def list_scratch(prior: Prior) -> ListScratch:
    """For one thread, apart from what others write; ``fill`` tells it the totals."""
    lines, numbers = private(np.zeros((prior.n_topics, LINE))), np.zeros(prior.n_topics)
    blocks, one_more = np.zeros(n_blocks(prior.n_topics)), np.zeros(prior.n_topics + 1)
    return ListScratch(lines, private(numbers), private(blocks), private(one_more), private(one_more.astype(np.uint32)))


@bare_kernel
def fill(totals: Int64Array, beta_sum: FloatArray, share: FloatArray, lines: FloatArray) -> None:
    """What does not change between documents; α_k is set when the sampler reaches a document."""
    for k in range(lines.shape[0]):
        lines[k, TOTAL] = totals[k]
        lines[k, BETA_SUM] = beta_sum[k]
        lines[k, INVERSE] = share[k] / (totals[k] + beta_sum[k])
        lines[k, INVERSE_OUT] = share[k] / (totals[k] - 1 + beta_sum[k]) if totals[k] > 0 else 0.0
        lines[k, ALPHA] = 0.0
        lines[k, DOC] = 0.0
        lines[k, PLACE] = NOWHERE
        lines[k, SHARE] = share[k]
