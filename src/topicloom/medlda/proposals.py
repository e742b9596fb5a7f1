"""Topics of a supervised model by Metropolis-Hastings with composed proposals: O(tasks) a step, whatever K (exact).

The target for a token of word v in document d, with the token itself taken out of all counts, is (LightMedLDA eq. 15)

    p(k) ∝ (n_kv + β_v) · (n_dk + α_k) / (n_k + Σβ) · exp g(k),      g(k) = Σ_c η_kc (slope_c − ½ bend_c η_kc),
    slope_c = (pull_c − curve_c m_c/N_d)/N_d,    bend_c = curve_c/N_d²,    m_c = Σ_k n_dk η_kc,

which is eq. 16 for every loss (``augment``) and, summed over tasks c, that of section 4.1. Of the sums over tasks only
those of the present and of a proposed topic are needed, so nothing is kept for all topics.

Three proposals, each knowing one factor:

    by word      q(k) ∝ n_kv + β_v       the topic of a random other token of the word, or any,
    by document  q(k) ∝ n_dk + α_k       the topic of a random other token of the document, or one drawn by α,
    by exponent  q(k) ∝ exp g̃(k)         from the document's alias table.

A step from s to t is accepted with probability min(1, p(t) q(s) / p(s) q(t)).

Why it is exact: p and q are functions of the *other* tokens and of what a sweep holds fixed. A table of the document
made from its topics when it was entered would not be: it has seen the token's own topic, so it is another proposal for
every topic that the token may be in, and dividing its values out as eqs. 19 to 21 do does not mend that (``gibbs.mh``).
So the first two proposals are never stale. The table is made with ``seen`` in place of m_d/N_d: a noisy copy of it that
was drawn as a variable of the model before the sweep (``augment.add_noise``), and stays as it is while topics move.
"""

from math import exp

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.lda.gibbs.mh import find_first
from topicloom.numerics.alias import build_alias, draw_alias
from topicloom.numerics.exponent import exponentials, largest
from topicloom.numerics.jit import bare_kernel, kernel, reducing_kernel, step
from topicloom.numerics.prefetch import own_tokens, prefetch
from topicloom.numerics.rng import below, uniform, uniforms
from topicloom.numerics.sums import sum_of

WORD, DOC, EXP = 0, 1, 2
_BASE, _OTHERS, _PLACE, _BETA = 0, 1, 2, 3  # of a word: where its tokens begin, how many but one, the next of them, β
_FIELDS = 4
_AHEAD = 6  # tokens
_LINE, _FEW = 16, 64  # counts in a line of the cache; so many are all asked for
_FLOOR = -60.0  # of g̃ below its largest value: what is proposed too seldom could never be left


@reducing_kernel
def gain(eta: FloatArray, slope: FloatArray, bend: FloatArray) -> float:
    """g: what a token of a topic with these weights adds to the log pseudo-likelihood."""
    s = 0.0
    for c in range(eta.shape[0]):
        s += eta[c] * (slope[c] - 0.5 * bend[c] * eta[c])
    return s


@bare_kernel
def enter_document(
    doc: Int32Array, n_tokens: int, eta: FloatArray, pull: FloatArray, curve: FloatArray, slope: FloatArray,
    bend: FloatArray,
) -> None:  # fmt: skip
    """Set ``slope``, with all tokens counted, and ``bend`` of the document that has these counts."""
    inverse = 1.0 / max(n_tokens, 1)
    slope[:] = 0.0
    for k in range(doc.shape[0]):
        if doc[k] > 0:
            n, own = float(doc[k]), eta[k]
            for c in range(slope.shape[0]):
                slope[c] += n * own[c]
    for c in range(slope.shape[0]):
        slope[c] = (pull[c] - curve[c] * slope[c] * inverse) * inverse
        bend[c] = curve[c] * inverse * inverse


@bare_kernel
def fill_table(
    n_tokens: int, eta_by_task: FloatArray, pull: FloatArray, curve: FloatArray, seen: FloatArray, bend: FloatArray,
    work: FloatArray, spare: FloatArray, guess: FloatArray, keep: FloatArray, other: Int32Array,
) -> None:  # fmt: skip
    """``guess`` ∝ exp g̃(k) with ``seen`` for m_d/N_d, and its alias table."""
    n_topics = guess.shape[0]
    work[:] = 0.0
    for c in range(eta_by_task.shape[0]):
        slope, half, own = (pull[c] - curve[c] * seen[c]) / n_tokens, 0.5 * bend[c], eta_by_task[c]
        for k in range(n_topics):
            work[k] += own[k] * (slope - half * own[k])
    top = largest(work)
    for k in range(n_topics):
        work[k] = max(work[k], top + _FLOOR)
    exponentials(work, top, guess, spare)
    build_alias(guess, keep, other)


@step
def _ask_for_word(v: int, word_start: int, of_words: Int64Array) -> None:
    prefetch(of_words, (v - word_start) * _FIELDS)


@step
def _ask_for_counts(v: int, k: int, n_topics: int, word_topic: Int32Array) -> None:
    """All of a word's counts if they are few, else that of the token's own topic."""
    if n_topics <= _FEW:
        for first in range(0, n_topics, _LINE):
            prefetch(word_topic, v * n_topics + first)
    else:
        prefetch(word_topic, v * n_topics + k)


@step
def _draw_ahead(
    at: int, n_topics: int, of_words: Int64Array, betas: FloatArray, z_by_word: AnyArray, kind_of: Int64Array,
    ahead: FloatArray, stream: UInt64Array,
) -> None:  # fmt: skip
    """Uniform draws for the proposals of a token of a word, and ask for the tokens of the word that they fall on."""
    uniforms(stream, ahead)
    base = of_words[at, _BASE]
    word_mass = of_words[at, _OTHERS] + betas[at, _BETA] * n_topics
    for j in range(ahead.shape[0]):
        if kind_of[j] == WORD:
            prefetch(z_by_word, base + int(ahead[j] * word_mass))


@step
def _accepts(stay: float, move: float, x: float) -> bool:
    """Whether stay < move · e^x.

    With y = |x| ≥ 0 it is whether the smaller of the two, times e^y, reaches the larger, unless x and their order say
    the same. By its series e^y is at least 1 + y + y²/2 + y³/6, and e^−y at least 1 − y + y²/2 − y³/6, which settles
    most cases without it.
    """
    if stay < move:
        if x >= 0.0:
            return True
        even, odd = 1.0 + 0.5 * x * x, -x * (1.0 + x * x / 6.0)
        if stay * (even + odd) >= move:
            return False
        return stay < move * (even - odd) or stay < move * exp(x)
    if x <= 0.0:
        return False
    even, odd = 1.0 + 0.5 * x * x, x * (1.0 + x * x / 6.0)
    if stay < move * (even + odd):
        return True
    return stay * (even - odd) < move and stay < move * exp(x)


@bare_kernel
def _walk(
    doc_start: int, doc_stop: int, word_start: int, word_stop: int,
    words: Int32Array, doc_ptr: Int64Array, z: AnyArray, word_topic: Int32Array, topic: Int64Array,
    alpha: FloatArray, alpha_row: Int32Array, beta_sum: FloatArray,
    z_by_word: AnyArray, alpha_keep: FloatArray, alpha_other: Int32Array,
    eta: FloatArray, eta_by_task: FloatArray, pull: FloatArray, curve: FloatArray, seen: FloatArray,
    n_mh: int, kinds: Int64Array, mixed: bool, stream: UInt64Array, work: Int64Array,
    of_words: Int64Array, betas: FloatArray, mine: Int64Array, doc: Int32Array, share: FloatArray, total: FloatArray,
    slope: FloatArray, bend: FloatArray, out: FloatArray, sums: FloatArray, spare: FloatArray, guess: FloatArray,
    keep: FloatArray, other: Int32Array, proposed: Int64Array, kind_of: Int64Array, drawn: FloatArray,
    ahead: FloatArray,
) -> None:  # fmt: skip
    """As ``sweep_block``, with its scratch."""
    n_topics, n_tasks, n_kinds = topic.shape[0], eta.shape[1], kinds.shape[0]
    for k in range(n_topics):
        total[k] = topic[k] + beta_sum[k]
    for j in range(n_mh):
        kind_of[j] = kinds[j % n_kinds]
    r, alpha_sum = -1, 0.0
    changed, visited = 0, 0
    for d in range(doc_start, doc_stop):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        _, n_own = own_tokens(begin, end, words, word_start, word_stop, mine)
        if n_own == 0:
            continue
        visited += n_own
        for m in range(min(n_own, 2 * _AHEAD)):
            _ask_for_word(words[mine[m]], word_start, of_words)
        for m in range(min(n_own, _AHEAD)):
            _ask_for_counts(words[mine[m]], z[mine[m]], n_topics, word_topic)
        if alpha_row[d] != r:
            r = alpha_row[d]
            alpha_sum = sum_of(alpha[r])
        a = alpha[r]
        doc[:] = 0
        for i in range(begin, end):
            doc[z[i]] += 1
        for k in range(n_topics):
            share[k] = doc[k] + a[k]
        enter_document(doc, end - begin, eta, pull[d], curve[d], slope, bend)
        tabled = False
        for j in range(n_mh):
            if mixed:
                kind_of[j] = kinds[below(stream, n_kinds)]
            tabled |= kind_of[j] == EXP
        if tabled:
            fill_table(end - begin, eta_by_task, pull[d], curve[d], seen[d], bend, sums, spare, guess, keep, other)
        of_doc = end - begin - 1  # other tokens
        doc_mass = of_doc + alpha_sum
        _draw_ahead(words[mine[0]] - word_start, n_topics, of_words, betas, z_by_word, kind_of, ahead, stream)
        for m in range(n_own):
            i = mine[m]
            v = words[i]
            at_word = v - word_start
            for j in range(n_mh):
                drawn[j] = ahead[j]
            if m + 1 < n_own:
                following = words[mine[m + 1]] - word_start
                _draw_ahead(following, n_topics, of_words, betas, z_by_word, kind_of, ahead, stream)
            if m + _AHEAD < n_own:
                later = mine[m + _AHEAD]
                _ask_for_counts(words[later], z[later], n_topics, word_topic)
            if m + 2 * _AHEAD < n_own:
                _ask_for_word(words[mine[m + 2 * _AHEAD]], word_start, of_words)
            own = of_words[at_word, _PLACE]  # tokens of a word are met in the order in which they lie in z_by_word
            of_words[at_word, _PLACE] = own + 1
            old = int(z[i])
            b, base, of_word = betas[at_word, _BETA], of_words[at_word, _BASE], of_words[at_word, _OTHERS]
            word_mass = of_word + b * n_topics
            moves = 0
            for j in range(n_mh):
                u, kind = drawn[j], kind_of[j]
                if kind == WORD:
                    u *= word_mass
                    if u < of_word:
                        at = base + int(u)
                        t = int(z_by_word[at + 1 if at >= own else at])
                    else:
                        t = min(int((u - of_word) / b), n_topics - 1)
                elif kind == DOC:
                    u *= doc_mass
                    if u < of_doc:
                        at = begin + int(u)
                        t = int(z[at + 1 if at >= i else at])
                    else:
                        t = draw_alias(alpha_keep[r], alpha_other[r], (u - of_doc) / alpha_sum)
                else:
                    t = draw_alias(keep, other, u)
                proposed[j] = t
                moves += t != old
            if moves == 0:
                continue
            row = word_topic[v]
            row[old] -= 1
            topic[old] -= 1
            doc[old] -= 1
            share[old] = doc[old] + a[old]
            total[old] = topic[old] + beta_sum[old]
            leaving = eta[old]
            for c in range(n_tasks):
                out[c] = slope[c] + bend[c] * leaving[c]
            s, here = old, gain(leaving, out, bend)
            for j in range(n_mh):
                t = proposed[j]
                if t == s:
                    continue
                there, kind = gain(eta[t], out, bend), kind_of[j]
                if kind == WORD:
                    stay, move = share[s] * total[t], share[t] * total[s]
                elif kind == DOC:
                    stay, move = (row[s] + b) * total[t], (row[t] + b) * total[s]
                else:
                    stay = (row[s] + b) * share[s] * guess[t] * total[t]
                    move = (row[t] + b) * share[t] * guess[s] * total[s]
                stay *= uniform(stream)
                x = there - here
                if _accepts(stay, move, x):
                    s, here = t, there
            row[s] += 1
            topic[s] += 1
            doc[s] += 1
            share[s] = doc[s] + a[s]
            total[s] = topic[s] + beta_sum[s]
            if s != old:
                joining = eta[s]
                for c in range(n_tasks):
                    slope[c] = out[c] - bend[c] * joining[c]
                z[i] = s
                z_by_word[own] = s
                changed += 1
    work[0] = changed
    work[1] = visited * n_mh


@kernel
def sweep_block(
    doc_start: int, doc_stop: int, word_start: int, word_stop: int,
    words: Int32Array, doc_ptr: Int64Array, z: AnyArray, word_topic: Int32Array, topic: Int64Array,
    alpha: FloatArray, alpha_row: Int32Array, beta: FloatArray, beta_sum: FloatArray,
    word_ptr: Int64Array, token: Int64Array, z_by_word: AnyArray, alpha_keep: FloatArray, alpha_other: Int32Array,
    eta: FloatArray, eta_by_task: FloatArray, pull: FloatArray, curve: FloatArray, seen: FloatArray,
    n_mh: int, kinds: Int64Array, mixed: bool, stream: UInt64Array, work: Int64Array,
) -> None:  # fmt: skip
    """Take ``n_mh`` steps for every token of the given documents whose word is in the given range.

    ``kinds`` are the proposals in use: taken in turn, or, if ``mixed``, each step's drawn at random once a document,
    which processors can foresee within it. The numbers that proposals come from are drawn while the token before is at
    work, so that the memory they point to is there in time; what is there is read when it is the token's turn.
    Where all proposals are the token's present topic, nothing else is looked at. Nothing of a word outside the range
    is asked for: another thread writes there, and would have to wait until it has its memory back.
    ``work`` returns how many tokens changed and how many topics were proposed.
    """
    n_topics, n_tasks = topic.shape[0], eta.shape[1]
    place = find_first(word_ptr, token, word_start, word_stop, doc_ptr[doc_start])
    of_words = np.empty((max(word_stop - word_start, 0), _FIELDS), np.int64)  # what is needed of a word in one line
    betas = of_words.view(np.float64)
    for v in range(word_start, word_stop):
        own = of_words[v - word_start]
        own[_BASE], own[_OTHERS] = word_ptr[v], word_ptr[v + 1] - word_ptr[v] - 1
        own[_PLACE], betas[v - word_start, _BETA] = place[v - word_start], beta[v]
    longest = 0
    for d in range(doc_start, doc_stop):
        longest = max(longest, doc_ptr[d + 1] - doc_ptr[d])
    mine = np.empty(longest + 1, np.int64)
    doc, other = np.zeros(n_topics, np.int32), np.empty(n_topics, np.int32)
    share, total = np.empty(n_topics), np.empty(n_topics)  # n_dk + α_k of the current document, n_k + Σβ
    slope, bend, out = np.empty(n_tasks), np.empty(n_tasks), np.empty(n_tasks)
    sums, spare, guess, keep = np.empty(n_topics), np.empty(n_topics), np.ones(n_topics), np.empty(n_topics)
    proposed, kind_of = np.empty(n_mh, np.int64), np.empty(n_mh, np.int64)
    drawn, ahead = np.empty(n_mh), np.empty(n_mh)
    _walk(
        doc_start, doc_stop, word_start, word_stop, words, doc_ptr, z, word_topic, topic, alpha, alpha_row, beta_sum,
        z_by_word, alpha_keep, alpha_other, eta, eta_by_task, pull, curve, seen, n_mh, kinds, mixed, stream, work,
        of_words, betas, mine, doc, share, total, slope, bend, out, sums, spare, guess, keep, other, proposed, kind_of,
        drawn, ahead,
    )  # fmt: skip
