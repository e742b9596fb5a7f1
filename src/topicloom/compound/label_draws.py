"""Mean topic shares of documents by any labels, as posterior draws.

A document's θ is drawn toward the mean of those that it has its prior from. If that is a collection, and the question
is about another label, the mean over the label's documents is drawn toward the collection's, and no number of documents
makes up for it. So the chain goes on from its last state with the labels as its collections: a copy of it, whose
topics keep their numbers and whose γ is learned for the labels. θ of every document is drawn along it.

*Documents* have the mean of θ_d over the label's own documents. Their *population* has the mean over documents like
them: the Bayesian bootstrap (Rubin 1981) gives each document an exponential weight. So that a label of one or two
documents does not look certain, each label has one more document, drawn from the prior of a document of unknown label
(the proper Bayesian bootstrap of Muliere and Secchi 1996).
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import log
from typing import Literal, get_args

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, UInt64Array
from topicloom.compound.mixtures import SMALLEST_SHARE, Mixing, start_mixtures
from topicloom.compound.sampler import with_mixtures
from topicloom.corpus.corpus import Corpus
from topicloom.engine.run import Chain, Plan, advance
from topicloom.engine.sampler import Sampler
from topicloom.numerics.jit import kernel
from topicloom.numerics.rng import Purpose, stream, uniform
from topicloom.numerics.variates import dirichlet

Of = Literal["population", "documents"]
OF: tuple[str, ...] = get_args(Of)
N_DRAWS = 50  # states of the chain, unless said otherwise
_SETTLING = 50  # sweeps under the labels' mixtures before the first draw
_PER_STATE = 4  # draws of θ and weights in each state: they cost little beside the sweeps
_BLOCK = 4096  # documents whose parameters are in memory at a time


@kernel
def add_documents(
    rng: UInt64Array, parameter: FloatArray, label: Int32Array, weighted: bool, out: FloatArray, weight: FloatArray
) -> None:  # fmt: skip
    """Draw θ of each document, and add it to its label's sum with the weight 1 or, if ``weighted``, a drawn one."""
    theta = np.empty(parameter.shape[1])
    for d in range(parameter.shape[0]):
        own = -log(1.0 - uniform(rng)) if weighted else 1.0
        dirichlet(rng, parameter[d], theta)
        for k in range(theta.shape[0]):
            out[label[d], k] += own * theta[k]
        weight[label[d]] += own


def mean_shares(
    rng: UInt64Array, parameters: Iterable[tuple[slice, FloatArray]], label: Int32Array, n_labels: int,
    base: FloatArray, of: Of,
) -> FloatArray:  # fmt: skip
    """Draws [R, G, K] of the mean of θ by label.

    Parameters
    ----------
    rng : array [4]
        A stream.
    parameters : iterable of (documents, Dirichlet parameters [documents, K])
    label : array [D]
        The number of each document's label.
    n_labels : int
    base : array [K]
        Dirichlet parameters of a document of unknown label.
    of : {"population", "documents"}
    """
    total = np.zeros((_PER_STATE, n_labels, len(base)))
    weight = np.zeros((_PER_STATE, n_labels))
    weighted = of == "population"
    for docs, parameter in parameters:
        for draw in range(_PER_STATE):
            add_documents(rng, parameter, label[docs], weighted, total[draw], weight[draw])
    if weighted:
        prior, each = np.tile(base, (n_labels, 1)), np.arange(n_labels, dtype=np.int32)
        for draw in range(_PER_STATE):
            add_documents(rng, prior, each, True, total[draw], weight[draw])
    return np.asarray(total / weight[:, :, None])


def sampled_draws(
    sampler: Sampler, corpus: Corpus, chain: Chain, plan: Plan, first: tuple[FloatArray, float, FloatArray],
    label: Int32Array, n_draws: int, of: Of, thin: int,
) -> FloatArray:  # fmt: skip
    """Draws [S, G, K] of the mean of θ by label, along sweeps that go on from the chain's last state.

    Parameters
    ----------
    sampler : Sampler
        A sampler of LDA, without mixtures.
    corpus : Corpus
        As the sampler sees it: every path's documents.
    chain : Chain
        Is not changed.
    plan : Plan
        That of the fit.
    first : (mixtures of labels [G, K], γ, α [K])
        What to begin with.
    label : array [D]
        The number of each document's label, of one path.
    n_draws : int
        States that draws are made in, ``thin`` sweeps apart.
    of : {"population", "documents"}
    """
    start = start_mixtures(np.maximum(first[0], SMALLEST_SHARE), *first[1:])
    rows = np.tile(label, plan.n_paths)
    mixing = Mixing("ags", learn_gamma=True, thin=thin)
    going = with_mixtures(sampler, mixing, start, rows)
    prior = chain.prior._replace(alpha=start.rows(), alpha_row=rows)
    state = going.restore(corpus, np.array(chain.state.z), prior.n_topics)
    assert going.first_extra is not None
    own = Chain(chain.index, chain.sweep, state, prior, extra=going.first_extra())
    end = chain.sweep + _SETTLING + n_draws * thin
    plan = replace(
        plan, max_iter=end, burn_in=None, learn_alpha=False, learn_beta=False, learn_more=True, learn_from=0,
        trace_every=end + 1,
    )  # fmt: skip
    found = []
    for sweep in range(chain.sweep + 1, end + 1):
        advance(going, corpus, own, plan)
        after = sweep - chain.sweep - _SETTLING
        if after > 0 and after % thin == 0:
            rng = stream(plan.seed, Purpose.MIXTURE_DRAWS, chain.index, sweep)
            base = np.asarray(own.prior.alpha[label].mean(axis=0))
            for path in range(plan.n_paths):
                parameters = _given_topics(corpus, own, path * len(label), len(label))
                found.append(mean_shares(rng, parameters, label, len(first[0]), base, of))
    return np.concatenate(found)


def _given_topics(corpus: Corpus, chain: Chain, first: int, n_docs: int) -> Iterator[tuple[slice, FloatArray]]:
    """Dirichlet parameters of θ given the topics of tokens, of ``n_docs`` documents from ``first`` on."""
    z, n_topics, ptr = chain.state.z, chain.prior.n_topics, corpus.doc_ptr
    for begin in range(first, first + n_docs, _BLOCK):
        end = min(begin + _BLOCK, first + n_docs)
        row = np.repeat(np.arange(end - begin), np.diff(ptr[begin : end + 1]))
        counts = np.bincount(row * n_topics + z[ptr[begin] : ptr[end]], minlength=(end - begin) * n_topics)
        prior = chain.prior.alpha[chain.prior.alpha_row[begin:end]]
        yield slice(begin - first, end - first), counts.reshape(prior.shape) + prior


def variational_draws(
    seed: int, parameter: AnyArray, label: Int32Array, n_labels: int, base: FloatArray, n_draws: int, of: Of
) -> FloatArray:  # fmt: skip
    """The same from variational Dirichlet distributions [D, K] of documents."""
    whole = slice(0, len(parameter))
    found = []
    for draw in range(n_draws):
        rng = stream(seed, Purpose.MIXTURE_DRAWS, 0, draw)
        found.append(mean_shares(rng, [(whole, np.ascontiguousarray(parameter))], label, n_labels, base, of))
    return np.concatenate(found)
