"""What is recorded of a chain that does not depend on the numbers of its topics, so that chains can be compared.

Two chains may number the same topics differently. Whether two tokens have the same topic, and how alike two documents
are, means the same in both. So a fixed few pairs of tokens and of documents are looked at whenever a chain is recorded.
Which ones follows from the corpus alone: all chains, and all fits to a corpus, look at the same.

Half of the pairs of tokens are of one document, half are tokens of one word in two places. Tokens and documents are
drawn by tokens, so that long documents and frequent words count for more.
"""

from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus.corpus import Corpus, once
from topicloom.engine.state import topics_of_documents
from topicloom.numerics.rng import Purpose, path_key

N_TOKEN_PAIRS, N_DOC_PAIRS = 32, 32  # of each kind
_TRIES = 16  # draws for one pair before it is left out
_SAMPLE = 4096  # tokens among which pairs of one word are looked for


class Probes(NamedTuple):
    """What is looked at."""

    tokens: Int64Array  # [P, 2] pairs of tokens
    docs: Int64Array  # [Q, 2] pairs of documents

    @property
    def names(self) -> list[str]:
        """One name per quantity, in the order in which ``measure`` gives them."""
        tokens = [f"same topic, tokens {i} and {j}" for i, j in self.tokens.tolist()]
        return [*tokens, *(f"similarity, documents {d} and {e}" for d, e in self.docs.tolist()), "effective topics"]


def _draw(n: int, *path: int) -> int:
    return int(path_key(Purpose.PROBES, *path)) % n


@once
def probes_of(corpus: Corpus) -> Probes:
    """The pairs of a corpus; fewer where it has not so many."""
    n = corpus.n_tokens
    if n < 2:
        none = np.zeros((0, 2), np.int64)
        return Probes(none, none)

    def doc_of(token: int) -> int:
        return int(np.searchsorted(corpus.doc_ptr, token, "right")) - 1

    pairs: set[tuple[int, int]] = set()
    for pair in range(N_TOKEN_PAIRS):
        for attempt in range(_TRIES):
            first = _draw(n, 0, pair, attempt)
            begin, end = corpus.doc_ptr[doc_of(first) :][:2].tolist()
            second = begin + _draw(end - begin, 1, pair, attempt)
            if first != second:
                pairs.add((min(first, second), max(first, second)))
                break
    docs: set[tuple[int, int]] = set()
    for pair in range(N_DOC_PAIRS):
        for attempt in range(_TRIES):
            first, second = (doc_of(_draw(n, side, pair, attempt)) for side in (2, 3))
            if first != second:
                docs.add((min(first, second), max(first, second)))
                break
    pairs |= _pairs_of_words(corpus)
    as_array = [np.array(sorted(found), np.int64).reshape(-1, 2) for found in (pairs, docs)]
    return Probes(as_array[0], as_array[1])


def _pairs_of_words(corpus: Corpus) -> set[tuple[int, int]]:
    """Pairs of tokens of one word, among some tokens of the corpus."""
    n = min(corpus.n_tokens, _SAMPLE)
    sample = np.arange(n) * (corpus.n_tokens - 1) // (n - 1)
    order = np.argsort(corpus.words[sample], kind="stable")
    tokens, words = sample[order], corpus.words[sample][order]
    starts = np.flatnonzero(words[1:] == words[:-1])
    chosen = [int(starts[_draw(len(starts), 4, pair)]) for pair in range(N_TOKEN_PAIRS)] if len(starts) else []
    return {(int(tokens[i]), int(tokens[i + 1])) for i in chosen}


def measure(corpus: Corpus, z: AnyArray, sizes: Int64Array, alpha: Any = None) -> FloatArray:
    """Of each pair of tokens whether their topics are the same, and of each pair of documents how alike θ is.

    The last number is the effective number of topics: exp of the entropy of their shares of the tokens, ``sizes``.
    ``alpha`` gives a document's Dirichlet parameters; without it the shares of its tokens are taken as they are.
    """
    probes, n_topics = probes_of(corpus), len(sizes)
    of_pairs = z[probes.tokens.ravel()].reshape(-1, 2)
    same = of_pairs[:, 0] == of_pairs[:, 1]
    docs, shares = np.unique(probes.docs), {}
    topics, ptr = topics_of_documents(corpus, z, docs)
    for i, d in enumerate(docs.tolist()):
        counts = np.bincount(topics[ptr[i] : ptr[i + 1]], minlength=n_topics)
        shares[d] = counts / counts.sum() if alpha is None else (counts + alpha(d)) / (counts.sum() + alpha(d).sum())
    alike = [float(np.sum(shares[d] * shares[e])) for d, e in probes.docs.tolist()]  # not by BLAS
    p = sizes[sizes > 0] / max(sizes.sum(), 1)
    return np.concatenate((same, alike, [float(np.exp(-np.sum(p * np.log(p))))]))
