"""Counts from assignments, and the collapsed joint probability of both."""

from math import lgamma, log
from typing import TYPE_CHECKING

from topicloom._types import AnyArray, FloatArray, Int32Array, Int64Array
from topicloom.engine.prior import Prior
from topicloom.numerics.jit import bare_kernel, kernel, step

if TYPE_CHECKING:
    from topicloom.engine.state import SparseState

_SHORT, _SMALL = 8, 1e30  # so many factors, each of up to that, have a product that is a number


@kernel
def rebuild(words: Int32Array, z: AnyArray, word_topic: Int32Array, topic: Int64Array) -> None:
    """Fill the counts that the assignments imply."""
    word_topic[:] = 0
    topic[:] = 0
    for i in range(words.shape[0]):
        word_topic[words[i], z[i]] += 1
        topic[z[i]] += 1


@kernel
def add_tokens(words: Int32Array, z: AnyArray, word_start: int, word_stop: int, rows: Int32Array) -> None:
    """Add the tokens of a range of words to their rows of counts, the first of which is that of the first word."""
    for i in range(words.shape[0]):
        if word_start <= words[i] < word_stop:
            rows[words[i] - word_start, z[i]] += 1


@kernel
def document_counts(doc_ptr: Int64Array, z: AnyArray, out: FloatArray) -> None:
    """Fill a documents × topics matrix with n_dk."""
    out[:] = 0.0
    for d in range(doc_ptr.shape[0] - 1):
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            out[d, z[i]] += 1.0


@bare_kernel
def mean_topics(docs: Int64Array, doc_ptr: Int64Array, z: AnyArray, met_in: Int64Array) -> tuple[float, float]:
    """Number of topics and of tokens in a token's document, on average over the tokens of the given documents.

    ``met_in`` is scratch, one number per topic that is no document's.
    """
    topics, lengths, n_tokens = 0.0, 0.0, 0.0
    for d in docs:
        n_met = 0
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            n_met += met_in[z[i]] != d
            met_in[z[i]] = d
        length = doc_ptr[d + 1] - doc_ptr[d]
        topics += length * n_met
        lengths += length * length
        n_tokens += length
    if n_tokens == 0.0:
        return 0.0, 0.0
    return topics / n_tokens, lengths / n_tokens


@bare_kernel
def count_runs(
    words: Int32Array, doc_ptr: Int64Array, most: int, doc_runs: Int64Array, word_runs: Int64Array,
    doc_tokens: Int64Array, word_tokens: Int64Array,
) -> None:  # fmt: skip
    """How many runs of tokens of one word a document has, and a word, and tokens, up to so many of each run."""
    for out in (doc_runs, word_runs, doc_tokens, word_tokens):
        out[:] = 0
    for d in range(doc_ptr.shape[0] - 1):
        before, length = -1, 0
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            if words[i] != before:
                before, length = words[i], 0
                doc_runs[d] += 1
                word_runs[before] += 1
            if length < most:
                length += 1
                doc_tokens[d] += 1
                word_tokens[before] += 1


@bare_kernel
def in_order(words: Int32Array, doc_ptr: Int64Array) -> bool:
    """Whether no document has a word after a later one."""
    for d in range(doc_ptr.shape[0] - 1):
        for i in range(doc_ptr[d] + 1, doc_ptr[d + 1]):
            if words[i] < words[i - 1]:
                return False
    return True


@bare_kernel
def cut_by_loads(tokens: Int64Array, runs: Int64Array, token: float, run: FloatArray, edges: Int64Array) -> None:
    """Cut documents or words into parts of about equal loads: so much per token, and so much per run (each, or all).

    ``edges`` [parts + 1] is filled with where parts begin and end; some may be empty.
    """
    n, n_parts, pace = tokens.shape[0], edges.shape[0] - 1, 1 if run.shape[0] == tokens.shape[0] else 0
    total = n  # 1 each keeps those without tokens from piling up in one part
    for i in range(n):
        total += int(token * tokens[i] + run[i * pace] * runs[i])
    edges[:] = n
    edges[0] = 0
    reached, part = 0, 1
    for i in range(n):
        reached += int(token * tokens[i] + run[i * pace] * runs[i]) + 1
        while part < n_parts and reached * n_parts >= total * part:
            edges[part] = i
            part += 1


@step
def log_rise(n: int, a: float) -> float:
    """log Γ(n + a)/Γ(a), n ≥ 1: of a(a + 1) … (a + n − 1) where that is short, as most counts are small."""
    if n > _SHORT or a > _SMALL:
        return lgamma(n + a) - lgamma(a)
    product = a
    for j in range(1, n):
        product *= a + j
    return log(product)


@step
def _beta(v: int, k: int, prior: Prior) -> float:
    seed = prior.boost_row[v]
    return float(prior.beta[v] + prior.boost[seed, k] if seed >= 0 else prior.beta[v])


@bare_kernel
def log_joint_documents(
    doc_start: int, doc_stop: int, doc_ptr: Int64Array, z: AnyArray, prior: Prior, alpha_sum: FloatArray,
    doc: Int64Array, total: float,
) -> float:  # fmt: skip
    """Of some documents log p(z | α) with θ integrated out (first half of CVB eq. 7), added to ``total``.

    ``alpha_sum`` holds each row's sum of α; ``doc`` is scratch, one zero per topic.
    """
    for d in range(doc_start, doc_stop):
        start, stop = doc_ptr[d], doc_ptr[d + 1]
        a = prior.alpha[prior.alpha_row[d]]
        for i in range(start, stop):
            doc[z[i]] += 1
        for i in range(start, stop):
            k = z[i]
            if doc[k] > 0:  # each topic of the document once; clears the counts for the next document
                total += log_rise(doc[k], a[k])
                doc[k] = 0
        s = alpha_sum[prior.alpha_row[d]]
        total += lgamma(s) - lgamma(s + (stop - start))
    return total


@bare_kernel
def log_joint_totals(topic: Int64Array, beta_sum: FloatArray) -> float:
    """The part of log p(w | z, β) that depends on how many tokens topics have."""
    total = 0.0
    for k in range(topic.shape[0]):
        total += lgamma(beta_sum[k]) - lgamma(beta_sum[k] + topic[k])
    return total


@bare_kernel
def log_joint_words(word_start: int, word_stop: int, word_topic: Int32Array, prior: Prior, total: float) -> float:
    """Of some words log p(w | z, β) with φ integrated out (second half of CVB eq. 7), but for topics' totals.

    From a dense matrix of counts, and added to ``total``.
    """
    for v in range(word_start, word_stop):
        for k in range(word_topic.shape[1]):
            if word_topic[v, k] > 0:
                total += log_rise(word_topic[v, k], _beta(v, k, prior))
    return total


@bare_kernel
def log_joint_lists(word_start: int, word_stop: int, state: "SparseState", prior: Prior, total: float) -> float:
    """The same from lists of topics and counts."""
    entries = state.entries
    for v in range(word_start, word_stop):
        for j in range(state.list_ptr[v], state.list_ptr[v] + state.list_size[v]):
            total += log_rise(entries[j] >> 32, _beta(v, entries[j] & 0xFFFFFFFF, prior))
    return total


@kernel
def count_histogram(counts: Int32Array, out: Int64Array) -> None:
    """How often each value but 0 occurs in a matrix of counts."""
    for v in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            if counts[v, k] > 0:  # few are
                out[counts[v, k]] += 1


@bare_kernel
def list_histogram(state: "SparseState", out: Int64Array) -> None:
    """How often each count occurs in the lists."""
    for v in range(state.list_size.shape[0]):
        for j in range(state.list_ptr[v], state.list_ptr[v] + state.list_size[v]):
            out[state.entries[j] >> 32] += 1


@bare_kernel
def add_rows(word_start: int, word_stop: int, word_topic: Int32Array, out: Int64Array) -> None:
    """Add up the counts of a range of words by topic."""
    for v in range(word_start, word_stop):
        for k in range(out.shape[0]):
            out[k] += word_topic[v, k]


@bare_kernel
def add_lists(word_start: int, word_stop: int, state: "SparseState", out: Int64Array) -> None:
    """The same from lists of topics and counts."""
    entries = state.entries
    for v in range(word_start, word_stop):
        for j in range(state.list_ptr[v], state.list_ptr[v] + state.list_size[v]):
            out[entries[j] & 0xFFFFFFFF] += entries[j] >> 32
