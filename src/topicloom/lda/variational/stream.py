"""A stream of documents: its minibatches in turn, words that are new to it, and what is recorded of each minibatch.

A word is known once a minibatch that has it is learned. Before that its expected counts are 0, and it takes no part in
the sum of β over words. So a stream does not depend on how it is cut into calls, as long as minibatches are the same.
"""

from dataclasses import replace
from typing import cast

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.splits import split_halves
from topicloom.engine.prior import Prior
from topicloom.engine.run import Chain, Plan, Trace
from topicloom.errors import InputError
from topicloom.lda.variational import stochastic
from topicloom.lda.variational.batch import fit_documents
from topicloom.lda.variational.sampler import Settings
from topicloom.lda.variational.state import Work
from topicloom.lda.variational.stochastic import Batch, StochasticMode, StochasticState

_AT_ONCE = 1 << 20  # numbers
_MORE_ROUNDS = 10  # for documents that are scored, as for new ones


def copied(chain: Chain, n_words: int) -> Chain:
    """A chain that can go on while this one stays as it is, with room for so many words."""
    own = {name: array.copy() for name, array in chain.state._asdict().items()}
    more = n_words - len(own["counts"])
    if more:
        own["counts"] = np.pad(own["counts"], ((0, more), (0, 0)))
    trace = Trace(**{name: list(values) for name, values in vars(chain.trace).items()})
    earlier = len(trace.sweep) - len(trace.tokens)  # records of passes that ``fit`` has made
    trace.tokens += [0.0] * earlier
    trace.words += [0] * earlier
    trace.score += [np.nan] * earlier
    return replace(chain, state=StochasticState(**own), prior=_with_room(chain.prior, n_words), trace=trace)


def _with_room(prior: Prior, n_words: int) -> Prior:
    """New words have the β of all others, and are no seed words. Sums over words are of those that were there."""
    more = n_words - len(prior.beta)
    if not more:
        return prior
    beta = np.append(prior.beta, np.full(more, prior.beta[0]))
    return prior._replace(beta=beta, boost_row=np.append(prior.boost_row, np.full(more, -1, np.int32)))


def grown_vocabulary(known: tuple[str, ...], corpus: Corpus) -> tuple[str, ...]:
    """The words that are known, and then those that occur in the corpus and are not, in the order of their arrival."""
    before = set(known)
    words, first = np.unique(corpus.words, return_index=True)
    new = (corpus.vocabulary[v] for v in words[np.argsort(first)].tolist())
    return (*known, *(word for word in new if word not in before))


def learn(corpus: Corpus, chain: Chain, known: int, settings: Settings, plan: Plan, *, score_first: bool) -> float:
    """Learn the corpus in minibatches, in its order; changes the chain. Returns the last one's part of the bound.

    The first ``known`` words are those of the chain before.
    """
    mode, steps, work = cast(StochasticMode, settings.mode), settings.steps, settings.work(plan.schedule)
    split = halves(_known_before(corpus, known, steps.batch_size)) if score_first else None
    value = np.nan
    for docs in stochastic.batches(corpus.n_docs, steps.batch_size):
        score = np.nan
        if split is not None:
            observed, held = (stochastic.take_batch(part, docs) for part in split)
            score = _score(observed, held, chain.state, mode, chain.prior, work)
        batch = stochastic.take_batch(corpus, docs)
        arrived = max(known, int(batch.words.max(initial=-1)) + 1)
        if arrived > known:
            known, chain.prior = arrived, _of_known_words(chain.prior, arrived)
        rho = steps.step(int(chain.state.batches[0]))
        chain.prior, value = stochastic.learn_batch(batch, chain.state, mode, chain.prior, steps, work)
        chain.sweep += 1
        tokens = float(batch.pairs.count.sum())
        chain.trace.add(
            chain.sweep,
            {
                "log_joint": value,
                "changed": round(rho * tokens),
                "alpha_sum": float(chain.prior.alpha.sum()),
                "beta_mean": float(chain.prior.beta[:known].mean()),
                "change": rho,
                "tokens": tokens,
                "words": known,
                "score": score,
            },
        )
    if plan.learn_beta:
        chain.prior = stochastic.learn_beta(chain.state, mode, chain.prior)
    return value


def _of_known_words(prior: Prior, known: int) -> Prior:
    return prior._replace(beta_sum=prior.beta[:known].sum() + prior.boost.sum(axis=0))


def progress(trace: Trace) -> dict[str, AnyArray]:
    """Columns with what was recorded of each minibatch."""
    if not len(trace.tokens):
        raise InputError("no minibatch is recorded: this model was not fed by partial_fit, or by an earlier version.")
    used = np.flatnonzero(trace.tokens)
    columns = {"batch": trace.sweep, "tokens": trace.tokens, "words": trace.words, "bound": trace.log_joint}
    found = {name: np.array(values)[used] for name, values in columns.items()}
    found["bound"] = found["bound"] / found["tokens"]
    return found | {name: np.array(getattr(trace, name))[used] for name in ("score", "alpha_sum")}


# -- a score of documents that are yet to be learned -----------------------------------------------------------------


def halves(corpus: Corpus) -> tuple[Corpus, Corpus]:
    """As ``split_halves``; of a weighted document every other entry, in a random order, is held out whole."""
    if corpus.weights is None:
        return split_halves(corpus)
    keys = np.random.default_rng(0).random(corpus.n_tokens)
    order = np.lexsort((keys, corpus.token_docs))
    held = np.empty(corpus.n_tokens, bool)
    held[order] = (np.arange(corpus.n_tokens) - np.repeat(corpus.doc_ptr[:-1], corpus.doc_lengths)) % 2 == 1
    return corpus.keep_tokens(~held), corpus.keep_tokens(held)


def _known_before(corpus: Corpus, known: int, size: int) -> Corpus:
    """The corpus without words that are new in their minibatch."""
    batch_of, words = corpus.token_docs // size, corpus.words
    tops = np.zeros(-(-corpus.n_docs // size) + 1, np.int64)
    tops[0] = known
    np.maximum.at(tops, batch_of + 1, words + 1)
    old = words < np.maximum.accumulate(tops)[batch_of]
    return corpus if old.all() else corpus.keep_tokens(old)


def _score(
    observed: Batch, held: Batch, state: StochasticState, mode: StochasticMode, prior: Prior, work: Work
) -> float:
    """Mean log probability of held-out words, documents' topics being fitted to the observed ones; NaN if none is."""
    total = float(held.pairs.count.sum())
    if total <= 0:
        return float("nan")
    pairs, alpha = observed.pairs, prior.alpha[0]
    topics, _ = stochastic.expected_topics(stochastic.word_rows(observed.words, state, prior), state, mode, prior)
    doc = alpha + pairs.doc_weight[:, None] * (alpha / alpha.sum())
    patient = work._replace(doc_rounds=_MORE_ROUNDS * work.doc_rounds)
    fit_documents(pairs, topics, alpha, mode == "scvb0", patient, doc)
    theta = doc / doc.sum(axis=1, keepdims=True)
    phi = stochastic.word_rows(held.words, state, prior) / (state.topic + prior.beta_sum)
    return min(_log_probability(held, theta, phi) / total, 0.0)  # rounding may say more than all


def _log_probability(batch: Batch, theta: FloatArray, phi: FloatArray) -> float:
    """Σ n log Σ_k θ_dk φ_vk; words are those of the batch."""
    pairs, total = batch.pairs, 0.0
    size = max(_AT_ONCE // theta.shape[1], 1)
    for first in range(0, len(pairs.word), size):
        part = slice(first, first + size)
        p = np.einsum("ik,ik->i", theta[pairs.doc[part]], phi[pairs.word[part]])
        total += float(np.sum(pairs.count[part] * np.log(p)))
    return total
