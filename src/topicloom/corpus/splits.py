"""Parts of a corpus for training and for testing: whole documents, or tokens within each document."""

import numpy as np

from topicloom._types import AnyArray
from topicloom.corpus._checks import check_number, check_whole
from topicloom.corpus.corpus import Corpus, check_corpus
from topicloom.errors import InputError, counted


def split_documents(corpus: Corpus, test_share: float = 0.2, seed: int = 0) -> tuple[Corpus, Corpus]:
    """Split a corpus into training and test documents at random.

    Parameters
    ----------
    corpus : Corpus
    test_share : float, default=0.2
        Share of the documents to test on, between 0 and 1.
    seed : int, default=0
        Seed of the random numbers; the same seed gives the same parts.

    Returns
    -------
    train, test : Corpus
        Both keep the order of the documents. Together they have every document once.

    Raises
    ------
    InputError
        If one of the parts would be empty.

    Examples
    --------
    >>> from topicloom import from_texts
    >>> from topicloom.corpus import split_documents
    >>> corpus = from_texts(["river water", "money bank", "river boat", "bank loan"])
    >>> train, test = split_documents(corpus, test_share=0.25, seed=0)
    >>> train.n_docs, test.n_docs
    (3, 1)
    """
    _check(corpus, "test_share", test_share, seed)
    n_test = round(corpus.n_docs * test_share)
    if n_test == 0 or n_test == corpus.n_docs:
        raise InputError(
            f"test_share={test_share} of {counted(corpus.n_docs, 'documents')} leaves {n_test} for testing; "
            "both parts need at least one."
        )
    chosen = np.zeros(corpus.n_docs, bool)
    chosen[np.random.default_rng(seed).permutation(corpus.n_docs)[:n_test]] = True
    return corpus.select(~chosen), corpus.select(chosen)


def split_halves(corpus: Corpus, seed: int = 0) -> tuple[Corpus, Corpus]:
    """Split every document into its first and second half, for completion.

    If a corpus does not keep the order of words (``ordered`` is False), the first half is a random half, because its
    words are sorted by number.

    Parameters
    ----------
    corpus : Corpus
        Without ``weights``.
    seed : int, default=0
        Seed of the random numbers; used only if the order is unknown.

    Returns
    -------
    first, second : Corpus
        Both have all documents. The first half has the odd token.

    Examples
    --------
    >>> from topicloom import from_texts
    >>> from topicloom.corpus import split_halves
    >>> first, second = split_halves(from_texts(["the river floods its banks"]))
    >>> first.doc_lengths.tolist(), second.doc_lengths.tolist()
    ([3], [2])
    """
    _check(corpus, "share", 0.5, seed)
    lengths = corpus.doc_lengths
    first = _rank_in_document(corpus, seed) < np.repeat((lengths + 1) // 2, lengths)
    return corpus.keep_tokens(first), corpus.keep_tokens(~first)


def hold_out_tokens(corpus: Corpus, share: float = 0.1, seed: int = 0) -> tuple[Corpus, Corpus]:
    """Hold out random tokens of each document.

    Parameters
    ----------
    corpus : Corpus
        Without ``weights``.
    share : float, default=0.1
        Share of each document's tokens to hold out, between 0 and 1.
    seed : int, default=0
        Seed of the random numbers; the same seed gives the same parts.

    Returns
    -------
    observed, held_out : Corpus
        Both have all documents. Together they have every token once.

    Examples
    --------
    >>> from topicloom.corpus import hold_out_tokens
    >>> from topicloom.datasets import synthetic_lda
    >>> observed, held_out = hold_out_tokens(synthetic_lda(50, doc_length=20).corpus, share=0.1)
    >>> observed.n_tokens, held_out.n_tokens
    (900, 100)
    """
    _check(corpus, "share", share, seed)
    lengths = corpus.doc_lengths
    rank = _rank_in_document(corpus, seed, shuffle=True)
    held = rank < np.repeat(np.rint(lengths * share).astype(np.int64), lengths)
    return corpus.keep_tokens(~held), corpus.keep_tokens(held)


def _rank_in_document(corpus: Corpus, seed: int, shuffle: bool = False) -> AnyArray:
    """Position of each token in its document, in text order, or in a random order."""
    if corpus.weights is not None:
        raise InputError("a weighted corpus has no whole tokens to split; give counts.")
    position = np.arange(corpus.n_tokens) - np.repeat(corpus.doc_ptr[:-1], corpus.doc_lengths)
    if corpus.ordered and not shuffle:
        return position
    # Documents are contiguous, so sorting by (document, key) permutes each document in place.
    keys = np.random.default_rng(seed).random(corpus.n_tokens)
    order = np.lexsort((keys, corpus.token_docs))
    rank = np.empty_like(position)
    rank[order] = position
    return rank


def _check(corpus: Corpus, name: str, share: float, seed: int) -> None:
    check_corpus(corpus)
    if not 0 < check_number(name, share, 0.0, 1.0) < 1:
        raise InputError(f"{name}={share} must lie between 0 and 1.")
    check_whole("seed", seed, 0)
