"""The counts behind the per-topic diagnostics: two compiled passes over the tokens, one by word, one by document.

Memory beyond the tokens is one topic number per token and n_topics × n_top_words² counts. Nothing has the size of
topics × words or of documents × topics.
"""

from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.corpus._limits import available_memory
from topicloom.corpus.corpus import Corpus
from topicloom.engine.blocks import Tokens, tokens_of
from topicloom.engine.prior import Prior
from topicloom.errors import InputError
from topicloom.numerics.jit import as_input, kernel

SHARES = (0.02, 0.3, 0.5)  # of a document, from which it counts for a topic: columns of ``documents_from``
_MOST_BYTES = 1 << 30  # of co-document counts, beyond which memory is looked at first


class Assigned(NamedTuple):
    """The topic of every token, and the prior that it was drawn under."""

    corpus: Corpus
    z: AnyArray  # [N]
    prior: Prior
    alpha_sums: FloatArray  # [D] Σ α over the topics that a document may have


class WordPass(NamedTuple):
    """Sums over the words of each topic, and its top words; p is the share of a word in the topic's tokens."""

    squares: FloatArray  # [K] Σ p²
    from_uniform: FloatArray  # [K] Σ p log (p V)
    from_corpus: FloatArray  # [K] Σ p log (p / share of the word in the corpus)
    spread: FloatArray  # [V] Σ_k n_kv weight_k
    word: Int32Array  # [K, M] numbers of the top words, −1 where a topic has no more
    count: Int64Array  # type: ignore[assignment]  # [K, M]; hides tuple.count


class DocumentPass(NamedTuple):
    """Sums over the documents of each topic."""

    count_logs: FloatArray  # [K] Σ n_dk log n_dk
    documents: Int64Array  # [K] that have a token of the topic
    first_in: Int64Array  # [K] documents in which no topic has more tokens; ties go to the lowest number
    documents_from: Int64Array  # [K, 3] documents in which the topic's share is at least ``SHARES``
    together: Int32Array  # [K, M, M] documents with both top words in the topic: column ≤ row, [i, i] with word i


def check_top_words(n_topics: int, n_top_words: int) -> None:
    """Refuse a number of top words for which the counts of pairs would not fit into memory."""
    need = 4 * n_topics * n_top_words**2
    if need > _MOST_BYTES and need > (left := available_memory()):
        raise InputError(
            f"{n_top_words} top words of {n_topics} topics have {need / 1e9:.1f} GB of counts of pairs, more than the "
            f"{left / 1e9:.1f} GB of memory left; ask for fewer with n_top_words."
        )


def tokens_of_topics(assigned: Assigned) -> Int64Array:
    """How many tokens each topic has."""
    tokens = np.zeros(assigned.prior.n_topics, np.int64)
    _count(as_input(assigned.z), tokens)
    return tokens


@kernel
def _count(z: AnyArray, tokens: Int64Array) -> None:
    for k in z:
        tokens[k] += 1


def pass_by_word(assigned: Assigned, tokens: Int64Array, weight: FloatArray, n_top_words: int) -> WordPass:
    """What is known of each topic's words; ``weight`` [K] is what a token of each topic counts for in ``spread``."""
    corpus, n_topics = assigned.corpus, len(tokens)
    ptr = np.zeros(corpus.n_words + 1, np.int64)
    np.cumsum(corpus.word_counts, out=ptr[1:])
    by_word = np.empty(corpus.n_tokens, assigned.z.dtype)
    _order_by_word(as_input(corpus.words), as_input(assigned.z), ptr[:-1].copy(), by_word)
    sums = WordPass(
        squares=np.zeros(n_topics),
        from_uniform=np.zeros(n_topics),
        from_corpus=np.zeros(n_topics),
        spread=np.zeros(corpus.n_words),
        word=np.full((n_topics, n_top_words), -1, np.int32),
        count=np.zeros((n_topics, n_top_words), np.int64),
    )
    found, met = np.zeros((2, n_topics), np.int64)
    _scan_words(as_input(ptr), as_input(by_word), as_input(tokens), as_input(weight), found, met, sums)
    return sums


@kernel
def _order_by_word(words: Int32Array, z: AnyArray, end: Int64Array, by_word: AnyArray) -> None:
    """Topics of all tokens, ordered by word; ``end`` starts as where each word's tokens start."""
    for t in range(len(words)):
        v = words[t]
        by_word[end[v]] = z[t]
        end[v] += 1


@kernel
def _scan_words(
    ptr: Int64Array,
    by_word: AnyArray,
    tokens: Int64Array,
    weight: FloatArray,
    found: Int64Array,
    met: Int64Array,
    sums: WordPass,
) -> None:
    n_words, n_tokens = len(ptr) - 1, ptr[-1]
    for v in range(n_words):
        n_met = 0
        for i in range(ptr[v], ptr[v + 1]):
            k = by_word[i]
            if found[k] == 0:
                met[n_met] = k
                n_met += 1
            found[k] += 1
        in_corpus = ptr[v + 1] - ptr[v]
        spread = 0.0
        for m in range(n_met):
            k = met[m]
            count = found[k]
            found[k] = 0
            share = count / tokens[k]
            sums.squares[k] += share * share
            sums.from_uniform[k] += share * np.log(count * n_words / tokens[k])
            sums.from_corpus[k] += share * np.log(n_tokens / tokens[k] * count / in_corpus)
            spread += count * weight[k]
            _keep_best(sums.word[k], sums.count[k], v, count)
        sums.spread[v] = spread


@kernel
def _keep_best(word: Int32Array, count: Int64Array, v: int, n: int) -> None:
    """Enter a word into a topic's list, most frequent first, before equals. Words come in ascending order."""
    place = len(word) - 1
    if n < count[place]:
        return
    while place > 0 and count[place - 1] <= n:
        word[place] = word[place - 1]
        count[place] = count[place - 1]
        place -= 1
    word[place] = v
    count[place] = n


def pass_by_document(assigned: Assigned, word: Int32Array) -> DocumentPass:
    """What is known of each topic's documents; ``word`` [K, M] has the topics' top words."""
    corpus, prior, (n_topics, n_top) = assigned.corpus, assigned.prior, word.shape
    sums = DocumentPass(
        count_logs=np.zeros(n_topics),
        documents=np.zeros(n_topics, np.int64),
        first_in=np.zeros(n_topics, np.int64),
        documents_from=np.zeros((n_topics, len(SHARES)), np.int64),
        together=np.zeros((n_topics, n_top, n_top), np.int32),
    )
    # The topics of which each word is a top word, ascending, with its rank in them.
    topic, rank = np.nonzero(word >= 0)
    order = np.lexsort((topic, word[topic, rank]))
    ptr = np.zeros(corpus.n_words + 1, np.int64)
    np.cumsum(np.bincount(word[topic, rank], minlength=corpus.n_words), out=ptr[1:])
    best = tuple(as_input(a) for a in (ptr, topic[order], rank[order]))
    found, met, n_present = np.zeros((3, n_topics), np.int64)
    seen_in, present = np.full((n_topics, n_top), -1, np.int64), np.zeros((n_topics, n_top), np.int64)
    scratch = DocumentScratch(found, met, n_present, seen_in, present)
    alpha_sums = as_input(assigned.alpha_sums)
    _scan_documents(tokens_of(corpus), as_input(assigned.z), prior, alpha_sums, best, scratch, sums)
    return sums


class DocumentScratch(NamedTuple):
    """Of the current document."""

    found: Int64Array  # [K] tokens of each topic
    met: Int64Array  # [K] its topics, each once
    n_present: Int64Array  # [K] how many of a topic's top words it has in that topic
    seen_in: Int64Array  # [K, M] the last document that had a topic's top word in that topic
    present: Int64Array  # [K, M] the ranks of these words


@kernel
def _scan_documents(
    tokens: Tokens, z: AnyArray, prior: Prior, alpha_sums: FloatArray, best: tuple[Int64Array, Int64Array, Int64Array],
    scratch: DocumentScratch, sums: DocumentPass,
) -> None:  # fmt: skip
    """One pass over all documents; ``alpha_sums`` [D] holds the sum of each document's α."""
    words, doc_ptr, alpha, alpha_row = tokens.words, tokens.doc_ptr, prior.alpha, prior.alpha_row
    found, met, n_present, seen_in = scratch.found, scratch.met, scratch.n_present, scratch.seen_in
    present = scratch.present
    for d in range(len(doc_ptr) - 1):
        n_met = 0
        for t in range(doc_ptr[d], doc_ptr[d + 1]):
            k = np.int64(z[t])
            if found[k] == 0:
                met[n_met] = k
                n_met += 1
            found[k] += 1
            rank = _rank_of(best, words[t], k)
            if rank >= 0 and seen_in[k, rank] != d:
                seen_in[k, rank] = d
                present[k, n_present[k]] = rank
                n_present[k] += 1
        length = doc_ptr[d + 1] - doc_ptr[d]
        first, most = -1, 0
        for m in range(n_met):
            k = met[m]
            count = found[k]
            found[k] = 0
            if count > most or (count == most and k < first):
                first, most = k, count
            sums.documents[k] += 1
            sums.count_logs[k] += count * np.log(count)
            share = (alpha[alpha_row[d], k] + count) / (alpha_sums[d] + length)
            for s in range(len(SHARES)):
                if share >= SHARES[s]:
                    sums.documents_from[k, s] += 1
            for i in range(n_present[k]):
                for j in range(i + 1):
                    a, b = present[k, i], present[k, j]
                    sums.together[k, max(a, b), min(a, b)] += 1
            n_present[k] = 0
        if first >= 0:
            sums.first_in[first] += 1


@kernel
def _rank_of(best: tuple[Int64Array, Int64Array, Int64Array], word: int, topic: int) -> int:
    """The word's rank among the topic's top words, −1 if it is none of them."""
    ptr, topics, ranks = best
    low, high = ptr[word], ptr[word + 1]
    while low < high:
        middle = (low + high) // 2
        if topics[middle] < topic:
            low = middle + 1
        else:
            high = middle
    return ranks[low] if low < ptr[word + 1] and topics[low] == topic else -1


@kernel
def co_document_scores(
    together: Int32Array, n_words: Int64Array, n_missing: Int64Array, beta: float, of_topic: FloatArray,
    of_word: FloatArray,
) -> None:  # fmt: skip
    """Σ log (D(row, column) + β) / (D(column) + β) over pairs of each topic's top words, and the least of each row.

    A topic's ``n_missing`` words count as words that no document has. The least of a row is at most 0.
    """
    for k in range(len(n_words)):
        total, missing = 0.0, 0.0
        for row in range(n_words[k]):
            in_row, least = 0.0, 0.0
            for column in range(row):
                score = np.log((together[k, row, column] + beta) / (together[k, column, column] + beta))
                in_row += score
                least = min(least, score)
            total += in_row
            of_word[k, row] = least
            missing += np.log(beta / (together[k, row, row] + beta))
        of_topic[k] = total + n_missing[k] * missing
