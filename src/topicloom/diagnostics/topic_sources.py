"""Where the topic of every token comes from: a fitted model, a state with its corpus, or plain arrays."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import as_array, as_numbers, check_whole, items, read_only, shown
from topicloom.corpus._limits import FREE, PER_ENTRY
from topicloom.corpus._streams import pointers
from topicloom.corpus.corpus import Corpus, default_vocabulary
from topicloom.diagnostics.topic_statistics import Assigned
from topicloom.engine.prior import Prior, make_prior
from topicloom.engine.state import topic_dtype
from topicloom.errors import InputError, counted

_ALPHA_SUM, _BETA = 5.0, 0.01  # as MALLET has them if it is not told otherwise
_FORMS = (
    "a fitted model, (corpus, state, prior) as topicloom.mallet.read_state returns it, or Assignments(words, docs, z, "
    "n_topics, vocabulary)"
)
_EACH_TOKEN = "diagnostics need the topic of every token, as a Gibbs sampler draws it"


class Assignments(NamedTuple):
    """The topic of every token as plain arrays, for instance of another tool.

    Parameters
    ----------
    words, docs, z : array of shape (n_tokens,)
        Word, document and topic number of each token, from 0, in any order.
    n_topics : int
        Number of topics K. Topics without a token are reported, too.
    vocabulary : sequence of str, optional
        The words. Their number is V. Without it they are named ``word0``, ``word1``, …
    """

    words: AnyArray
    docs: AnyArray
    z: AnyArray
    n_topics: int
    vocabulary: Sequence[str] | None = None


def read_source(source: Any, alpha: Any = None, beta: Any = None) -> Assigned:
    """Corpus, topics and prior; ``alpha`` and ``beta`` take the place of the prior's where they are given."""
    if isinstance(source, Assignments):
        corpus, z = _from_arrays(source)
        return _assigned(corpus, z, None, source.n_topics, alpha, beta)
    if isinstance(source, tuple) and len(source) in (2, 3) and isinstance(source[0], Corpus):
        corpus, state, prior = (*source, None)[:3]
        known = getattr(state, "topic", None)
        return _assigned(corpus, state, prior, None if known is None else len(known), alpha, beta)
    if hasattr(type(source), "chains_"):
        chain = source.chains_[source.best_chain_]
        return _assigned(source.corpus_, chain.state, chain.prior, None, alpha, beta, _n_paths(source))
    raise InputError(f"the source is {shown(source)}; expected {_FORMS}.")


def read_draws(draws: Any, source: Any, base: Assigned, alpha: Any = None, beta: Any = None) -> list[Assigned]:
    """States of the chain that ``base`` is a state of, each under its own prior where it comes with one."""
    if isinstance(draws, str | bytes | Assignments) or not isinstance(draws, Sequence | np.ndarray) or not len(draws):
        raise InputError(
            f"draws is {shown(draws)}; expected a list of one or more states of the same chain, each as an array z, a "
            "state, a chain, or (corpus, state, prior)."
        )
    n_topics, found = base.prior.n_topics, []
    for number, draw in enumerate(draws):
        prior, state = None, draw
        if isinstance(draw, tuple) and len(draw) in (2, 3) and isinstance(draw[0], Corpus):
            if draw[0].fingerprint != base.corpus.fingerprint:
                raise InputError(f"draw {number} has another corpus; all draws must be of one chain.")
            _, state, prior = (*draw, None)[:3]
        elif hasattr(draw, "state") and hasattr(draw, "prior"):
            state, prior = draw.state, draw.prior
        try:
            one = _assigned(
                base.corpus, state, base.prior if prior is None else prior, n_topics, alpha, beta, _n_paths(source)
            )
        except InputError as error:
            raise InputError(f"draw {number}: {error}") from None
        found.append(one if hasattr(state, "label_ptr") or prior is not None else base._replace(z=one.z))
    return found


def _n_paths(source: Any) -> int:
    return int(getattr(source, "n_paths", 1))


def _from_arrays(given: Assignments) -> tuple[Corpus, AnyArray]:
    """A corpus of the tokens, in the order of the documents, and their topics."""
    n_topics = check_whole("n_topics", given.n_topics, 1)
    columns = [_whole_numbers(name, getattr(given, name)) for name in ("words", "docs", "z")]
    words, docs, z = columns
    for name, column in zip(("docs", "z"), columns[1:], strict=True):
        if len(column) != len(words):
            raise InputError(
                f"{name} has {counted(len(column), 'entries')} and words {len(words)}; one per token is expected."
            )
    if not len(words):
        raise InputError("there are no tokens; give at least one.")
    _check_range("z", z, n_topics)
    plausible = max(FREE, PER_ENTRY * len(words))  # documents, and words that no vocabulary names
    _check_range("docs", docs, plausible)
    _check_range("words", words, plausible if given.vocabulary is None else 1 << 31)
    if np.any(docs[1:] < docs[:-1]):
        order = np.argsort(docs, kind="stable")
        words, docs, z = words[order], docs[order], z[order]
    named = given.vocabulary is not None
    names = items("vocabulary", given.vocabulary) if named else default_vocabulary(int(words.max()) + 1)
    return Corpus(read_only(words.astype(np.int32)), pointers(np.bincount(docs.astype(np.int64))), names), z


def _assigned(
    corpus: Corpus, state: Any, prior: Any, n_topics: int | None, alpha: Any, beta: Any, n_paths: int = 1
) -> Assigned:
    if corpus.weights is not None:
        raise InputError(f"the corpus is weighted and has no whole tokens; {_EACH_TOKEN}.")
    if prior is not None and not isinstance(prior, Prior):
        raise InputError(f"the prior is {shown(type(prior).__name__)}, not that of a topic model; {_EACH_TOKEN}.")
    z = getattr(state, "z", state if isinstance(state, np.ndarray) else None)
    if z is None or not isinstance(z, np.ndarray) or z.dtype.kind not in "iu":
        raise InputError(f"there is no topic per token in {type(state).__name__}; {_EACH_TOKEN}.")
    if z.shape == (n_paths * corpus.n_tokens,):
        z = z[: corpus.n_tokens]
    if z.shape != (corpus.n_tokens,):
        raise InputError(
            f"z has shape {z.shape} but the corpus has {corpus.n_tokens} tokens; one topic each is needed."
        )
    if corpus.n_tokens == 0:
        raise InputError("the corpus has no tokens, so its topics cannot be judged; give at least one.")
    made = _prior(corpus, prior, n_topics, alpha, beta)
    _check_range("z", z, made.n_topics)
    return Assigned(corpus, np.asarray(z, topic_dtype(made.n_topics)), made, _alpha_sums(corpus, state, made))


def _prior(corpus: Corpus, prior: Prior | None, n_topics: int | None, alpha: Any, beta: Any) -> Prior:
    if prior is not None:
        n_topics = prior.n_topics
        if len(prior.beta) != corpus.n_words or len(prior.alpha_row) < corpus.n_docs:
            raise InputError(
                f"the prior has {len(prior.beta)} words and {len(prior.alpha_row)} documents, the corpus "
                f"{corpus.n_words} and {corpus.n_docs}; give the corpus that was sampled."
            )
        prior = prior._replace(alpha_row=prior.alpha_row[: corpus.n_docs])  # of the first of several paths
        if alpha is None and beta is None:
            return prior
    if n_topics is None:
        raise InputError("the number of topics is not known; give a state or a prior, or use Assignments.")
    alphas = _positive("alpha", _ALPHA_SUM / n_topics if alpha is None else alpha, n_topics, "topics")
    betas = _positive("beta", _BETA if beta is None else beta, corpus.n_words, "words")
    made = make_prior(alphas, betas, corpus.n_docs)
    if prior is None:
        return made
    if alpha is None:
        return made._replace(alpha=prior.alpha, alpha_row=prior.alpha_row)
    if beta is None:
        return prior._replace(alpha=made.alpha, alpha_row=made.alpha_row)
    return made


def _alpha_sums(corpus: Corpus, state: Any, prior: Prior) -> FloatArray:
    """Σ α of each document: over all topics, or over its labels where tokens may have no others."""
    if not hasattr(state, "label_ptr"):
        return np.array([math.fsum(row) for row in prior.alpha.tolist()])[prior.alpha_row]
    ptr, labels = state.label_ptr, state.labels
    owner = np.repeat(np.arange(corpus.n_docs), np.diff(ptr))
    sums = np.bincount(owner, prior.alpha[prior.alpha_row[owner], labels], minlength=corpus.n_docs)
    return sums.astype(np.float64, copy=False)


def _positive(name: str, values: Any, n: int, of: str) -> FloatArray:
    numbers = as_numbers(name, values)
    if numbers.shape not in ((), (n,)):
        raise InputError(f"{name} has shape {numbers.shape}; give one number, or one for each of {n} {of}.")
    if not np.all(np.isfinite(numbers) & (numbers > 0)):
        raise InputError(f"{name} is {shown(values)}; every value must be positive and finite.")
    return np.full(n, numbers)


def _whole_numbers(name: str, values: Any) -> AnyArray:
    column: AnyArray = as_array(name, values)
    if column.ndim != 1 or (column.size and column.dtype.kind not in "iu"):
        raise InputError(f"{name} must be a vector of whole numbers, not {column.dtype} of shape {column.shape}.")
    return column


def _check_range(name: str, numbers: AnyArray, size: int) -> None:
    low, high = int(numbers.min()), int(numbers.max())
    if low < 0 or high >= size:
        raise InputError(f"{name} has {low if low < 0 else high}; its numbers go from 0 to {size - 1}.")
