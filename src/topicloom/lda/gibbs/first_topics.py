"""First topics of all tokens, drawn from the prior; seed words toward their topics."""

import numpy as np

from topicloom._types import AnyArray, FloatArray, UInt64Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Tokens, tokens_of
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Key
from topicloom.engine.state import new_assignments
from topicloom.numerics.jit import bare_kernel
from topicloom.numerics.rng import Purpose, stream, uniform
from topicloom.numerics.search import search_sums


@bare_kernel
def draw_from_prior(
    tokens: Tokens, prior: Prior, alpha_sums: FloatArray, running: FloatArray, stream: UInt64Array, z: AnyArray
) -> None:
    """First assignments: topic k with weight α_k, times the prior mean of φ_kv for a seed word.

    ``alpha_sums`` holds each row's running sums of α; ``running`` is scratch, one number per topic.
    """
    words, doc_ptr, boost_row = tokens.words, tokens.doc_ptr, prior.boost_row
    n_topics = alpha_sums.shape[1]
    for d in range(doc_ptr.shape[0] - 1):
        sums = alpha_sums[prior.alpha_row[d]]
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            v = words[i]
            u = uniform(stream)
            if boost_row[v] < 0:
                x, k = u * sums[n_topics - 1], int(u * n_topics)
                if x >= sums[k] or (k > 0 and x < sums[k - 1]):  # where it is if all α are equal, otherwise by search
                    k = search_sums(sums, x)
                z[i] = k
            else:
                total = 0.0
                for k in range(n_topics):
                    a = sums[k] - (sums[k - 1] if k > 0 else 0.0)
                    total += a * (prior.beta[v] + prior.boost[boost_row[v], k]) / prior.beta_sum[k]
                    running[k] = total
                z[i] = search_sums(running, u * total)


@bare_kernel
def skip(stream: UInt64Array, n: int) -> None:
    """Leave out so many draws: each token takes one."""
    for _ in range(n):
        uniform(stream)


def first_topics(corpus: Corpus, prior: Prior, key: Key) -> AnyArray:
    """Topics drawn from the prior, seed words toward their topics."""
    z, rng = new_assignments(corpus, prior.n_topics), stream(key.seed, Purpose.START, key.chain)
    sums = np.cumsum(prior.alpha, axis=1)
    draw_from_prior(tokens_of(corpus), prior, sums, np.empty(prior.n_topics), rng, z)
    return z
