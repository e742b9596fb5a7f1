"""Topics of a supervised model by Metropolis-Hastings with composed proposals: O(tasks) per step, whatever K (exact).

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
from typing import NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array, UInt64Array
from topicloom.engine.blocks import Block, Tokens
from topicloom.engine.prior import Prior
from topicloom.lda.gibbs.mh import Scratch as Sources
from topicloom.lda.gibbs.mh import find_first
from topicloom.medlda.state import LabelTerms, MedState
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


class Steps(NamedTuple):
    """Which steps each token takes."""

    n_mh: int
    kinds: Int64Array  # the proposals in use, of WORD, DOC and EXP
    mixed: bool  # each step's proposal is drawn at random, once per document; otherwise they are taken in turn


class Table(NamedTuple):
    """The alias table of the proposal by exponent, of the current document."""

    guess: FloatArray  # [K] ∝ exp g̃
    keep: FloatArray  # [K] as in ``numerics.alias``
    other: Int32Array  # [K]
    exponents: FloatArray  # [K] g̃, for as long as the table is made
    spare: FloatArray  # [K] what ``exponentials`` writes into


class Scratch(NamedTuple):
    """What a block of documents and words writes into while its topics are drawn."""

    word_lines: Int64Array  # [words, _FIELDS] what is needed of a word, in one line of the cache
    betas: FloatArray  # the same memory: its column _BETA is a float
    listed: Int64Array  # the current document's tokens whose words are in the block
    doc: Int32Array  # [K] n_dk of the current document
    share: FloatArray  # [K] n_dk + α_k of the current document
    total: FloatArray  # [K] n_k + Σβ
    slope: FloatArray  # [C] of the current document, with all its tokens
    slope_without: FloatArray  # [C] the same without the current token
    bend: FloatArray  # [C] of the current document
    table: Table
    proposed: Int64Array  # [n_mh] topics
    kind_of: Int64Array  # [n_mh] the proposal of each step
    drawn: FloatArray  # [n_mh] uniform numbers that the current token's proposals come from
    ahead: FloatArray  # [n_mh] those of the next token


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
            n, weights = float(doc[k]), eta[k]
            for c in range(slope.shape[0]):
                slope[c] += n * weights[c]
    for c in range(slope.shape[0]):
        slope[c] = (pull[c] - curve[c] * slope[c] * inverse) * inverse
        bend[c] = curve[c] * inverse * inverse


@bare_kernel
def fill_table(d: int, n_tokens: int, labels: LabelTerms, seen: FloatArray, bend: FloatArray, table: Table) -> None:
    """``guess`` ∝ exp g̃(k) of document d with ``seen`` for m_d/N_d, and its alias table."""
    guess, exponents, pull, curve, seen_here = table.guess, table.exponents, labels.pull[d], labels.curve[d], seen[d]
    n_topics = guess.shape[0]
    exponents[:] = 0.0
    for c in range(labels.eta_by_task.shape[0]):
        slope, half, eta = (pull[c] - curve[c] * seen_here[c]) / n_tokens, 0.5 * bend[c], labels.eta_by_task[c]
        for k in range(n_topics):
            exponents[k] += eta[k] * (slope - half * eta[k])
    top = largest(exponents)
    for k in range(n_topics):
        exponents[k] = max(exponents[k], top + _FLOOR)
    exponentials(exponents, top, guess, table.spare)
    build_alias(guess, table.keep, table.other)


@step
def _ask_for_word(v: int, word_start: int, word_lines: Int64Array) -> None:
    prefetch(word_lines, (v - word_start) * _FIELDS)


@step
def _ask_for_counts(v: int, k: int, n_topics: int, word_topic: Int32Array) -> None:
    """All of a word's counts if they are few, otherwise that of the token's own topic."""
    if n_topics <= _FEW:
        for first in range(0, n_topics, _LINE):
            prefetch(word_topic, v * n_topics + first)
    else:
        prefetch(word_topic, v * n_topics + k)


@step
def _draw_ahead(at: int, n_topics: int, z_by_word: AnyArray, scratch: Scratch, stream: UInt64Array) -> None:
    """Uniform draws for the proposals of a token of a word, and ask for the tokens of the word that they fall on."""
    ahead = scratch.ahead
    uniforms(stream, ahead)
    base = scratch.word_lines[at, _BASE]
    word_mass = scratch.word_lines[at, _OTHERS] + scratch.betas[at, _BETA] * n_topics
    for j in range(ahead.shape[0]):
        if scratch.kind_of[j] == WORD:
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
def _sweep_documents(
    block: Block, tokens: Tokens, state: MedState, prior: Prior, sources: Sources, labels: LabelTerms,
    seen: FloatArray, steps: Steps, stream: UInt64Array, work: Int64Array, scratch: Scratch,
) -> None:  # fmt: skip
    """As ``sweep_block``, with its scratch."""
    words, doc_ptr = tokens.words, tokens.doc_ptr
    word_start, word_stop = block.word_start, block.word_stop
    z, word_topic, topic = state.z, state.word_topic, state.topic
    alpha, alpha_row, beta_sum = prior.alpha, prior.alpha_row, prior.beta_sum
    z_by_word, eta = sources.z_by_word, labels.eta
    n_mh, kinds = steps.n_mh, steps.kinds
    word_lines, betas, listed = scratch.word_lines, scratch.betas, scratch.listed
    doc, share, total = scratch.doc, scratch.share, scratch.total
    slope, slope_without, bend = scratch.slope, scratch.slope_without, scratch.bend
    guess, keep, other = scratch.table.guess, scratch.table.keep, scratch.table.other
    proposed, kind_of, drawn, ahead = scratch.proposed, scratch.kind_of, scratch.drawn, scratch.ahead
    n_topics, n_tasks, n_kinds = topic.shape[0], eta.shape[1], kinds.shape[0]
    for k in range(n_topics):
        total[k] = topic[k] + beta_sum[k]
    for j in range(n_mh):
        kind_of[j] = kinds[j % n_kinds]
    r, alpha_sum = -1, 0.0
    changed, visited = 0, 0
    for d in range(block.doc_start, block.doc_stop):
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        _, n_own = own_tokens(begin, end, words, word_start, word_stop, listed)
        if n_own == 0:
            continue
        visited += n_own
        for m in range(min(n_own, 2 * _AHEAD)):
            _ask_for_word(words[listed[m]], word_start, word_lines)
        for m in range(min(n_own, _AHEAD)):
            _ask_for_counts(words[listed[m]], z[listed[m]], n_topics, word_topic)
        if alpha_row[d] != r:
            r = alpha_row[d]
            alpha_sum = sum_of(alpha[r])
        a = alpha[r]
        doc[:] = 0
        for i in range(begin, end):
            doc[z[i]] += 1
        for k in range(n_topics):
            share[k] = doc[k] + a[k]
        enter_document(doc, end - begin, eta, labels.pull[d], labels.curve[d], slope, bend)
        needs_table = False
        for j in range(n_mh):
            if steps.mixed:
                kind_of[j] = kinds[below(stream, n_kinds)]
            needs_table |= kind_of[j] == EXP
        if needs_table:
            fill_table(d, end - begin, labels, seen, bend, scratch.table)
        of_doc = end - begin - 1  # other tokens
        doc_mass = of_doc + alpha_sum
        _draw_ahead(words[listed[0]] - word_start, n_topics, z_by_word, scratch, stream)
        for m in range(n_own):
            i = listed[m]
            v = words[i]
            at_word = v - word_start
            for j in range(n_mh):
                drawn[j] = ahead[j]
            if m + 1 < n_own:
                following = words[listed[m + 1]] - word_start
                _draw_ahead(following, n_topics, z_by_word, scratch, stream)
            if m + _AHEAD < n_own:
                later = listed[m + _AHEAD]
                _ask_for_counts(words[later], z[later], n_topics, word_topic)
            if m + 2 * _AHEAD < n_own:
                _ask_for_word(words[listed[m + 2 * _AHEAD]], word_start, word_lines)
            place = word_lines[at_word, _PLACE]  # tokens of a word are met in the order in which they lie in z_by_word
            word_lines[at_word, _PLACE] = place + 1
            old = int(z[i])
            b, base, of_word = betas[at_word, _BETA], word_lines[at_word, _BASE], word_lines[at_word, _OTHERS]
            word_mass = of_word + b * n_topics
            moves = 0
            for j in range(n_mh):
                u, kind = drawn[j], kind_of[j]
                if kind == WORD:
                    u *= word_mass
                    if u < of_word:
                        at = base + int(u)
                        t = int(z_by_word[at + 1 if at >= place else at])
                    else:
                        t = min(int((u - of_word) / b), n_topics - 1)
                elif kind == DOC:
                    u *= doc_mass
                    if u < of_doc:
                        at = begin + int(u)
                        t = int(z[at + 1 if at >= i else at])
                    else:
                        t = draw_alias(sources.alpha_keep[r], sources.alpha_other[r], (u - of_doc) / alpha_sum)
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
                slope_without[c] = slope[c] + bend[c] * leaving[c]
            s, here = old, gain(leaving, slope_without, bend)
            for j in range(n_mh):
                t = proposed[j]
                if t == s:
                    continue
                there, kind = gain(eta[t], slope_without, bend), kind_of[j]
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
                    slope[c] = slope_without[c] - bend[c] * joining[c]
                z[i] = s
                z_by_word[place] = s
                changed += 1
    work[0] = changed
    work[1] = visited * n_mh


@step
def _new_scratch(block: Block, doc_ptr: Int64Array, prior: Prior, sources: Sources, n_tasks: int, n_mh: int) -> Scratch:
    """Made here, once per block, since ``_sweep_documents`` makes no arrays."""
    word_start, word_stop, word_ptr, beta = block.word_start, block.word_stop, sources.word_ptr, prior.beta
    n_topics = prior.alpha.shape[1]
    place = find_first(word_ptr, sources.token, word_start, word_stop, doc_ptr[block.doc_start])
    word_lines = np.empty((max(word_stop - word_start, 0), _FIELDS), np.int64)
    betas = word_lines.view(np.float64)
    for v in range(word_start, word_stop):
        line = word_lines[v - word_start]
        line[_BASE], line[_OTHERS] = word_ptr[v], word_ptr[v + 1] - word_ptr[v] - 1
        line[_PLACE], betas[v - word_start, _BETA] = place[v - word_start], beta[v]
    longest = 0
    for d in range(block.doc_start, block.doc_stop):
        longest = max(longest, doc_ptr[d + 1] - doc_ptr[d])
    table = Table(
        guess=np.ones(n_topics),
        keep=np.empty(n_topics),
        other=np.empty(n_topics, np.int32),
        exponents=np.empty(n_topics),
        spare=np.empty(n_topics),
    )
    return Scratch(
        word_lines=word_lines,
        betas=betas,
        listed=np.empty(longest + 1, np.int64),
        doc=np.zeros(n_topics, np.int32),
        share=np.empty(n_topics),
        total=np.empty(n_topics),
        slope=np.empty(n_tasks),
        slope_without=np.empty(n_tasks),
        bend=np.empty(n_tasks),
        table=table,
        proposed=np.empty(n_mh, np.int64),
        kind_of=np.empty(n_mh, np.int64),
        drawn=np.empty(n_mh),
        ahead=np.empty(n_mh),
    )


@kernel
def sweep_block(
    block: Block, tokens: Tokens, state: MedState, prior: Prior, sources: Sources, labels: LabelTerms,
    seen: FloatArray, steps: Steps, stream: UInt64Array, work: Int64Array,
) -> None:  # fmt: skip
    """Take ``n_mh`` steps for every token of the given documents whose word is in the given range.

    A proposal that is drawn once per document, if they are ``mixed``, is one that processors can foresee within it.
    The numbers that proposals come from are drawn while the token before is at work, so that the memory they point to
    is there in time; what is there is read when it is the token's turn.
    Where all proposals are the token's present topic, nothing else is looked at. Nothing of a word outside the range
    is asked for: another thread writes there, and would have to wait until it has its memory back.
    ``work`` returns how many tokens changed and how many topics were proposed.
    """
    scratch = _new_scratch(block, tokens.doc_ptr, prior, sources, labels.eta.shape[1], steps.n_mh)
    _sweep_documents(block, tokens, state, prior, sources, labels, seen, steps, stream, work, scratch)
