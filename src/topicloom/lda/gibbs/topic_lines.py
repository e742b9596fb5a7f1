"""What samplers by lists keep of a topic, in one cache line: with many topics each line may have to come from far."""

from topicloom._types import FloatArray, Int64Array
from topicloom.numerics.jit import bare_kernel

# n_k, Σβ, 1 / (n_k + Σβ), the same with one token less, which is ready before a token asks for it, and of the current
# document α_k, n_dk and the topic's place among the document's
TOTAL, BETA_SUM, INVERSE, INVERSE_OUT, ALPHA, DOC, PLACE = range(7)
NOWHERE = -1.0  # the place of a topic that the document has not had
LINE = 8  # float64 numbers in a cache line, which is what a topic has


@bare_kernel
def fill(totals: Int64Array, beta_sum: FloatArray, kept: FloatArray) -> None:
    """What is kept between documents; α_k is set when a document is entered."""
    for k in range(kept.shape[0]):
        kept[k, TOTAL] = totals[k]
        kept[k, BETA_SUM] = beta_sum[k]
        kept[k, INVERSE] = 1.0 / (totals[k] + beta_sum[k])
        kept[k, INVERSE_OUT] = 1.0 / (totals[k] - 1 + beta_sum[k]) if totals[k] > 0 else 0.0
        kept[k, ALPHA] = 0.0
        kept[k, DOC] = 0.0
        kept[k, PLACE] = NOWHERE
