"""Frequent words, whose lists of topics are long: a token costs the topics of its document instead.

The weight of topic k for a token of word v (CGS_p eq. 1), the token itself taken out of all counts, is split in three,

    n_kv · n_dk / (n_k + Σβ)  +  n_kv · α_k / (n_k + Σβ)  +  β_v · (n_dk + α_k) / (n_k + Σβ).

The first part is non-zero only for the topics of the document. The third is β_v times a sum that ``gibbs_sparse`` keeps
for all words together. The second, the word's *pull*, is spread over the word's whole list, but few draws fall into it.
Its sum is kept for topic totals as they were some time ago, times a bound on what has become of them since: too large,
never too small. So a draw from it is accepted with the probability that makes up for the difference, else all is
drawn again, and the topic has exactly the distribution that it should have without a sum over the list.

While a sweep lasts a long word's counts are a row over all topics, 2 n_kv, plus 1 if the topic is in the word's list.
The list may then hold topics that the word has left, and its counts are out of date; its order still suits searches.
"""

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.kernels._jit import bare_kernel, step
from topicloom.kernels.lists import SHIFT, TOPIC

# What is kept of a topic: n_k, Σβ, 1 / (n_k + Σβ), the same with one token less, which is ready before a token asks for
# it, and of the current document α_k, n_dk and the topic's place among the document's
TOTAL, BETA_SUM, INVERSE, INVERSE_OUT, ALPHA, DOC, PLACE = range(7)
NOWHERE = -1.0  # the place of a topic that the document has not had
LINE = 8  # float64 numbers in a cache line, which is what a topic has
SHORT, SEEDED = -1, -2  # in place of a word's row: it has none; it has none and is a seed word


@bare_kernel
def fill_rows(
    long_words: Int32Array, rows: Int32Array, list_ptr: Int64Array, list_size: Int32Array, entries: Int64Array
) -> None:
    """Rows of the long words from their lists."""
    for r in range(long_words.shape[0]):
        v = long_words[r]
        for j in range(list_ptr[v], list_ptr[v] + list_size[v]):
            rows[r, entries[j] & TOPIC] = 2 * (entries[j] >> SHIFT) + 1


@bare_kernel
def renew_list(rows: Int32Array, r: int, start: int, size: int, entries: Int64Array) -> int:
    """Counts of a long word's list as in its row, topics without tokens dropped; returns the list's length."""
    kept = start
    for j in range(start, start + size):
        k = entries[j] & TOPIC
        count = np.int64(rows[r, k] >> 1)
        if count > 0:
            entries[kept] = (count << SHIFT) + k
            kept += 1
        else:
            rows[r, k] = 0
    return int(kept - start)


@bare_kernel
def renew_lists(
    word_start: int, word_stop: int, long_words: Int32Array, rows: Int32Array, list_ptr: Int64Array,
    list_size: Int32Array, entries: Int64Array,
) -> None:  # fmt: skip
    """Lists of the long words of a range from their rows."""
    for r in range(long_words.shape[0]):
        v = long_words[r]
        if word_start <= v < word_stop:
            list_size[v] = renew_list(rows, r, list_ptr[v], list_size[v], entries)


@bare_kernel
def sum_pulls(
    word_start: int, word_stop: int, long_words: Int32Array, rows: Int32Array, list_ptr: Int64Array,
    list_size: Int32Array, entries: Int64Array, kept: FloatArray, largest: FloatArray, pulls: FloatArray,
    stale: FloatArray, pull: FloatArray,
) -> int:  # fmt: skip
    """Sum up the pulls of the long words of a range for topic totals as they are now, kept in ``stale``.

    ``kept`` has what ``gibbs_sparse`` keeps of the topics, ``largest`` the largest α_k of any document.
    Returns how many numbers were looked at.
    """
    for k in range(stale.shape[0]):
        stale[k] = kept[k, TOTAL] + kept[k, BETA_SUM]
        pull[k] = largest[k] / stale[k]
    looked_at = stale.shape[0]
    for r in range(long_words.shape[0]):
        v = long_words[r]
        if v < word_start or v >= word_stop:
            continue
        s = 0.0
        for j in range(list_ptr[v], list_ptr[v] + list_size[v]):
            k = entries[j] & TOPIC
            s += (rows[r, k] >> 1) * pull[k]
        pulls[r] = s
        looked_at += list_size[v]
    return int(looked_at)


@step
def search_pull(
    rows: Int32Array, r: int, start: int, size: int, entries: Int64Array, pull: FloatArray, u: float
) -> int:
    """The topic in whose stretch of the running sum of a word's pulls u falls."""
    k = entries[start] & TOPIC
    for j in range(start, start + size):
        k = entries[j] & TOPIC
        u -= (rows[r, k] >> 1) * pull[k]
        if u < 0.0:
            break
    return int(k)


@step
def weigh_own(rows: Int32Array, r: int, met: AnyArray, own: FloatArray, n_met: int, weight: FloatArray) -> float:
    """Fill ``weight`` with n_kv n_dk / (n_k + Σβ) of the document's topics; returns the sum."""
    even, odd = 0.0, 0.0  # two sums, as each addition waits for the one before it
    for j in range(0, n_met - 1, 2):
        w = (rows[r, met[j]] >> 1) * own[j]
        weight[j] = w
        even += w
        w = (rows[r, met[j + 1]] >> 1) * own[j + 1]
        weight[j + 1] = w
        odd += w
    if n_met & 1:
        w = (rows[r, met[n_met - 1]] >> 1) * own[n_met - 1]
        weight[n_met - 1] = w
        even += w
    return even + odd


@step
def join_long(rows: Int32Array, r: int, start: int, stop: int, size: int, entries: Int64Array, new: int) -> int:
    """One more token of a long word in a topic. Its list has room up to ``stop``; returns the list's length."""
    if rows[r, new] == 0:
        if start + size == stop:  # it holds topics that the word has left: a list has room for those that it has
            size = renew_list(rows, r, start, size, entries)
        entries[start + size] = new
        size += 1
        rows[r, new] = 1
    rows[r, new] += 2
    return size
