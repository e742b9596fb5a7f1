"""Collapsed Gibbs sampling whose cost follows the number of topics in which a word occurs (exact).

The weight of topic k for a token of word v (CGS_p eq. 1) is split as

    n_kv · c_k  +  β_v · c_k        with  c_k = (n_dk + α_k) / (n_k + Σβ),

the token itself taken out of all counts. The first part is non-zero only for the topics in the word's list; the
second is β_v times a sum that is kept up to date as tokens move, in blocks, so that a draw from it looks at one block's
topics alone. A word's list holds its topics and their counts side by side, the larger counts first, so that searches
end early. What else is kept of a topic lies in one cache line (``kept``).
"""

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.engine.count_lists import SHIFT, TOPIC, find, move
from topicloom.lda.gibbs.topic_lines import ALPHA, BETA_SUM, DOC, INVERSE, INVERSE_OUT, LINE, NOWHERE, PLACE, TOTAL
from topicloom.numerics.jit import bare_kernel, kernel, step
from topicloom.numerics.prefetch import own_token, own_tokens, prefetch
from topicloom.numerics.rng import uniform
from topicloom.numerics.search import search
from topicloom.numerics.sums import dot, sum_of

BLOCK = 8  # log₂ of the topics whose factors are summed together
_AHEAD = 6  # tokens from now whose lists are asked for
_NEXT = 160  # tokens from now, about a document, whose topics are asked for, where topics are many
_MANY = 1 << 11  # topics beyond which they are asked for: near caches are full
_REFRESH = 64  # documents after which the kept sum is made anew, so that rounding does not pile up


def n_blocks(n_topics: int) -> int:
    return ((n_topics - 1) >> BLOCK) + 1


@bare_kernel
def search_boost(boost: FloatArray, coef: FloatArray, u: float) -> int:
    found = 0
    for k in range(coef.shape[0]):
        if boost[k] > 0.0:
            found = k
            u -= boost[k] * coef[k]
            if u < 0.0:
                break
    return found


@bare_kernel
def keep_alpha(a: FloatArray, kept: FloatArray, coef: FloatArray, blocks: FloatArray) -> None:
    """Factors of a document without tokens, and their sums."""
    for k in range(coef.shape[0]):
        kept[k, ALPHA] = a[k]
        coef[k] = a[k] * kept[k, INVERSE]
    for b in range(blocks.shape[0]):
        blocks[b] = sum_of(coef[b << BLOCK : (b + 1) << BLOCK])


@bare_kernel
def search_blocks(coef: FloatArray, blocks: FloatArray, u: float) -> int:
    """The topic in whose stretch of the running sum of ``coef`` u falls: looks at one block's topics alone."""
    b, last = 0, blocks.shape[0] - 1
    while b < last and u >= blocks[b]:
        u -= blocks[b]
        b += 1
    return (b << BLOCK) + search(coef[b << BLOCK : (b + 1) << BLOCK], u)


@bare_kernel
def _mend(
    entries: Int64Array, start: int, size: int, own: int, at: int, new: int, coef: FloatArray, weight: FloatArray
) -> float:  # fmt: skip
    """Weigh anew the entries that ``move`` may have changed; returns the weight of the topic that was joined."""
    joined = 0.0
    for j in (own - 1, own, at - 1, at):
        if 0 <= j < size:
            k = entries[start + j] & TOPIC
            weight[j] = (entries[start + j] >> SHIFT) * coef[k]
            if k == new:
                joined = weight[j]
    return joined


@step
def ask_for(v: int, list_ptr: Int64Array, list_size: Int32Array, entries: Int64Array, beta: FloatArray) -> None:
    """Start to load what a draw for word v will look at; never for words whose lists another thread may write."""
    prefetch(list_size, v)
    prefetch(beta, v)
    prefetch(entries, list_ptr[v])
    prefetch(entries, list_ptr[v] + LINE)


@bare_kernel
def _enter(
    z: AnyArray, kept: FloatArray, coef: FloatArray, blocks: FloatArray, met: AnyArray
) -> int:  # fmt: skip
    """Count a document's topics, note each once in ``met``, and set their factors; returns how many there are."""
    n_met = 0
    for k in z:
        met[n_met] = k
        n_met += kept[k, DOC] == 0.0
        kept[k, DOC] += 1.0
    for j in range(n_met):
        k = met[j]
        c = (kept[k, DOC] + kept[k, ALPHA]) * kept[k, INVERSE]
        kept[k, PLACE] = j
        blocks[k >> BLOCK] += c - coef[k]
        coef[k] = c
    return n_met


@bare_kernel
def leave(kept: FloatArray, coef: FloatArray, blocks: FloatArray, met: AnyArray, n_met: int) -> None:
    """Back to the prior's share for the topics that the document has or had."""
    for j in range(n_met):
        k = met[j]
        kept[k, DOC] = 0.0
        kept[k, PLACE] = NOWHERE
        c = kept[k, ALPHA] * kept[k, INVERSE]
        blocks[k >> BLOCK] += c - coef[k]
        coef[k] = c


@step
def _search_smooth(old: int, coef_out: float, coef: FloatArray, blocks: FloatArray, u: float) -> int:
    """The topic in whose stretch of the factors' running sum u falls, the token taken out of its old topic's."""
    counted = coef[old]
    coef[old] = coef_out
    blocks[old >> BLOCK] += coef_out - counted
    new = search_blocks(coef, blocks, u)
    blocks[old >> BLOCK] += counted - coef_out
    coef[old] = counted
    return new


@step
def search_but(weight: FloatArray, n: int, own: int, u: float) -> int:
    """The index in whose stretch of the running sum of n weights u falls, weight ``own`` left out."""
    counted = weight[own]
    weight[own] = 0.0
    j = 0
    while j < n - 1 and u >= weight[j]:
        u -= weight[j]
        j += 1
    weight[own] = counted
    return j


@step
def _weigh_list(
    entries: Int64Array, start: int, size: int, old: int, coef: FloatArray, weight: FloatArray
) -> tuple[float, int]:  # fmt: skip
    """Fill ``weight`` with n_kv c_k of a word's topics; returns the sum, and where topic ``old`` stands."""
    even, odd, own = 0.0, 0.0, 0  # two sums, as each addition waits for the one before it
    for j in range(0, size - 1, 2):
        e, f = entries[start + j], entries[start + j + 1]
        k, other = e & TOPIC, f & TOPIC
        w = (e >> SHIFT) * coef[k]
        x = (f >> SHIFT) * coef[other]
        if k == old:
            own = j
        if other == old:
            own = j + 1
        weight[j] = w
        weight[j + 1] = x
        even += w
        odd += x
    if size & 1:
        e = entries[start + size - 1]
        k = e & TOPIC
        w = (e >> SHIFT) * coef[k]
        if k == old:
            own = size - 1
        weight[size - 1] = w
        even += w
    return even + odd, own


@step
def _draw_listed(
    v: int, old: int, own: int, coef_out: float, start: int, size: int, entries: Int64Array, weight: FloatArray,
    total_list: float, coef: FloatArray, blocks: FloatArray, total_coef: float, beta: FloatArray,
    seeded: bool, boost_row: Int32Array, boost: FloatArray, stream: UInt64Array,
) -> tuple[int, int]:  # fmt: skip
    """The topic of a token of a word by its list; returns the topic and its entry, the list's end if it has none."""
    stay = ((entries[start + own] >> SHIFT) - 1) * coef_out
    total = total_list - weight[own]  # of the other topics in the list
    smooth = beta[v] * (total_coef - coef[old] + coef_out)
    lift = 0.0
    if seeded:
        b = boost_row[v]
        lift = dot(boost[b], coef) + boost[b, old] * (coef_out - coef[old])
    u = uniform(stream) * (stay + total + smooth + lift) - stay
    if u < 0.0:  # the commonest outcome once a chain has settled, so it comes first
        return old, start
    if u < total:
        j = search_but(weight, size, own, u)
        return entries[start + j] & TOPIC, start + j
    if u < total + smooth or not seeded:
        new = _search_smooth(old, coef_out, coef, blocks, (u - total) / beta[v])
    else:
        counted = coef[old]
        coef[old] = coef_out
        new = search_boost(boost[boost_row[v]], coef, u - total - smooth)
        coef[old] = counted
    return new, find(entries, start, size, new)


@bare_kernel
def sweep_block(
    doc_start: int, doc_stop: int, word_start: int, word_stop: int,
    words: Int32Array, doc_ptr: Int64Array, z: AnyArray, list_ptr: Int64Array, list_size: Int32Array,
    entries: Int64Array, alpha: FloatArray, alpha_row: Int32Array, beta: FloatArray,
    boost_row: Int32Array, boost: FloatArray,
    kept: FloatArray, coef: FloatArray, blocks: FloatArray, weight: FloatArray, met: AnyArray,
    mine: Int64Array, stream: UInt64Array, work: Int64Array,
) -> None:  # fmt: skip
    """Draw the topic of every token of the given documents whose word is in the given range.

    ``lda.gibbs.scratch`` says what the scratch is, but for ``mine``, a number for each token of the longest document,
    or none where a document's tokens of the range lie side by side (``own_tokens``); topics' totals come and are left
    in ``kept``. ``work`` returns how many tokens changed and how many weights were computed.
    """
    n_tokens, many, listed = words.shape[0], kept.shape[0] > _MANY, mine.shape[0] > 0
    alone = word_start == 0 and word_stop == list_size.shape[0]  # no other thread writes into lists
    row, total_coef = -1, 0.0
    changed, weighed = 0, 0
    weighed_topic, own, at, total_weight, stay = -1, 0, 0, 0.0, 0.0
    for d in range(doc_start, doc_stop):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        if alpha_row[d] != row or d % _REFRESH == 0:
            row = alpha_row[d]
            keep_alpha(alpha[row], kept, coef, blocks)
        first, n = own_tokens(begin, end, words, word_start, word_stop, mine)
        if n == 0:
            continue
        last = n_tokens - 1 if alone else first + n - 1  # whose list is asked for
        for j in range(min(_AHEAD, n)):
            ask_for(words[own_token(first, j, mine)], list_ptr, list_size, entries, beta)
        weighed_word = -1
        n_met = _enter(z[begin:end], kept, coef, blocks, met)
        total_coef = sum_of(blocks)
        for t in range(n):
            if listed:
                i, soon, later = mine[t], mine[min(t + _AHEAD, n - 1)], mine[min(t + 2 * _AHEAD, n - 1)]
            else:
                i = first + t
                soon, later = min(i + _AHEAD, last), min(i + 2 * _AHEAD, last)
            v = words[i]
            if many and i + _NEXT < n_tokens:
                prefetch(kept, int(z[i + _NEXT]) * LINE)
                prefetch(coef, int(z[i + _NEXT]))
            prefetch(list_ptr, words[later])
            ask_for(words[soon], list_ptr, list_size, entries, beta)
            start, size, old = list_ptr[v], list_size[v], np.int64(z[i])
            # The token is taken out: its old topic gets these in place of what the arrays hold.
            inverse_out = kept[old, INVERSE_OUT]
            coef_out = (kept[old, DOC] - 1.0 + kept[old, ALPHA]) * inverse_out
            if v != weighed_word:
                total_weight, own = _weigh_list(entries, start, size, old, coef, weight)
                weighed += size
            elif old != weighed_topic:
                own = find(entries, start, size, old) - start
            weighed_topic = int(old)
            new, at = _draw_listed(
                v, old, own, coef_out, start, size, entries, weight, total_weight, coef, blocks, total_coef, beta,
                boost_row[v] >= 0, boost_row, boost, stream,
            )  # fmt: skip
            weighed_word = v
            if new == old:
                continue
            changed += 1
            z[i] = new
            total_weight -= weight[own] + (weight[at - start] if at < start + size else 0.0)
            stay = ((entries[start + own] >> SHIFT) - 1) * coef_out
            list_size[v] = move(entries, start, size, start + own, at, new)
            # the old topic
            kept[old, TOTAL] -= 1.0
            kept[old, DOC] -= 1.0
            kept[old, INVERSE] = inverse_out
            kept[old, INVERSE_OUT] = 1.0 / (kept[old, TOTAL] - 1.0 + kept[old, BETA_SUM])
            total_coef += coef_out - coef[old]
            blocks[old >> BLOCK] += coef_out - coef[old]
            coef[old] = coef_out
            # the new topic
            kept[new, TOTAL] += 1.0
            kept[new, DOC] += 1.0
            inverse = 1.0 / (kept[new, TOTAL] + kept[new, BETA_SUM])
            kept[new, INVERSE_OUT] = kept[new, INVERSE]
            kept[new, INVERSE] = inverse
            c = (kept[new, DOC] + kept[new, ALPHA]) * inverse
            total_coef += c - coef[new]
            blocks[new >> BLOCK] += c - coef[new]
            coef[new] = c
            if kept[new, PLACE] == NOWHERE:
                kept[new, PLACE] = n_met
                met[n_met] = new
                n_met += 1
            if i + 1 < end and words[i + 1] == v:  # the weights are used again: those that change are mended
                total_weight += stay + _mend(entries, start, list_size[v], own, at - start, new, coef, weight)
                weighed_topic = -1
            else:
                weighed_word = -1
        leave(kept, coef, blocks, met, n_met)
    work[0] = changed
    work[1] = weighed


@kernel
def conditional(
    token: int, d: int, words: Int32Array, doc_ptr: Int64Array, z: AnyArray, list_ptr: Int64Array,
    list_size: Int32Array, entries: Int64Array, topic: Int64Array, alpha: FloatArray, alpha_row: Int32Array,
    beta: FloatArray, beta_sum: FloatArray, boost_row: Int32Array, boost: FloatArray, weight: FloatArray,
) -> None:  # fmt: skip
    """The weights from which ``sweep_block`` would draw this token's topic, its parts put together."""
    a = alpha[alpha_row[d]]
    v, old = words[token], z[token]
    coef = np.empty(topic.shape[0], np.float64)
    coef[:] = a
    for i in range(doc_ptr[d], doc_ptr[d + 1]):
        coef[z[i]] += 1.0
    coef[old] -= 1.0
    for k in range(topic.shape[0]):
        coef[k] *= 1.0 / (topic[k] - (1 if k == old else 0) + beta_sum[k])
        weight[k] = beta[v] * coef[k]
        if boost_row[v] >= 0:
            weight[k] += boost[boost_row[v], k] * coef[k]
    for j in range(list_ptr[v], list_ptr[v] + list_size[v]):
        k = entries[j] & TOPIC
        weight[k] += (entries[j] >> SHIFT) * coef[k]
        if k == old:
            weight[k] -= coef[k]
