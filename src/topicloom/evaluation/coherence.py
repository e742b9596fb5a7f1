"""Coherence: do a topic's best words go together in a reference corpus?

Every measure is four small stages (the scheme of Röder, Both and Hinneburg, 2015), set side by side in
``MEASURES``: segmentation says which words are compared with which, probability says what counts as occurring
together, confirmation says how far one side supports the other, and aggregation makes one number of a topic's
confirmations.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from topicloom._types import AnyArray, BoolArray, FloatArray, Int64Array
from topicloom.corpus._checks import as_array, check_choice, check_number, shown
from topicloom.corpus.corpus import Corpus, check_corpus
from topicloom.errors import InputError
from topicloom.evaluation.topics import Topics, check_n_words, check_word_lists, is_matrix, top_words
from topicloom.numerics.jit import kernel
from topicloom.numerics.product import product

Window: TypeAlias = int | Literal["document"]

_WHOLE_DOCUMENT = np.iinfo(np.int64).max // 2  # a window that no document fills


class Segments(NamedTuple):
    """Pairs of word subsets of one topic, as indicators: ``left[s]`` is compared with ``right[s]``."""

    left: BoolArray
    right: BoolArray


class Measure(NamedTuple):
    segmentation: Callable[[int], Segments]
    probability: Window
    confirmation: Callable[[FloatArray, Segments, float], FloatArray]
    aggregation: Literal["mean", "sum"]
    epsilon: float | None  # added to the joint probability; None means one window more


def coherence(
    topics: Topics,
    corpus: Corpus,
    measure: Literal["c_npmi", "u_mass", "c_v"] = "c_npmi",
    *,
    n_words: int = 10,
    window: Window | None = None,
    epsilon: float | None = None,
    aggregate: Literal["mean", "sum"] | None = None,
) -> FloatArray:
    """How well the best words of each topic go together in a corpus; higher is better.

    Parameters
    ----------
    topics : array of shape (n_topics, n_words), or sequence of lists of str
        Probabilities over the corpus's vocabulary, such as ``model.topic_word_``, or each topic's words, best first.
    corpus : Corpus
        Where words are counted: the training corpus, or better another one.
    measure : {"c_npmi", "u_mass", "c_v"}, default="c_npmi"
        "c_npmi" is the mean normalised pointwise mutual information of all pairs of words, in windows of 10 tokens.
        "u_mass" is the mean over pairs of log (D(w, v) + 1) / D(v), v the better word, where D counts documents. "c_v"
        compares each word's vector of NPMI values with the sum of these vectors by the cosine, in windows of 110
        tokens.
    n_words : int, default=10
        Words per topic.
    window : int or "document", optional
        Tokens per window. Default: the measure's own. A corpus without word order is counted by whole documents.
    epsilon : float, optional
        Added to the joint probability. Default: 1e-12, and 1 / D for "u_mass"; some tools use 1e-12 there, too.
    aggregate : {"mean", "sum"}, optional
        How pairs make one value. Default: "mean". Mimno et al. (2011) add the pairs of "u_mass" up.

    Returns
    -------
    array of shape (n_topics,)
        Always finite. A pair that never occurs together has the value that epsilon gives, at most 0 (−1 if it is 0). A
        word that the corpus never uses, or that is in every window, counts as independent of all others.

    Examples
    --------
    >>> from topicloom import from_texts
    >>> corpus = from_texts(["river bank water", "river water", "loan money", "bank loan money"])
    >>> coherence([["river", "water"], ["river", "money"]], corpus).round(3).tolist()
    [1.0, -0.95]
    """
    check_corpus(corpus)
    check_choice("measure", measure, list(MEASURES))
    how = MEASURES[measure]
    lists = _word_numbers(topics, corpus, n_words)
    length = _window_length(how.probability if window is None else window, window is not None, corpus)
    add_up = how.aggregation if aggregate is None else aggregate
    check_choice("aggregate", add_up, ("mean", "sum"))
    if epsilon is not None:
        check_number("epsilon", epsilon, 0.0, 1.0)
    if epsilon == 1 or (epsilon == 0 and measure == "u_mass"):
        low = "must lie between 0 and 1 (the logarithm of 0 is infinite)" if measure == "u_mass" else "must be 0 to 1"
        raise InputError(f"epsilon={epsilon} {low}; leave it out for the measure's own value.")

    counts, n_windows = _count_together(lists, corpus, length)
    added = how.epsilon if epsilon is None else epsilon
    values = np.empty(len(lists))
    for k, words in enumerate(lists):
        joint = counts[k, : len(words), : len(words)] / n_windows
        confirmed = how.confirmation(joint, how.segmentation(len(words)), 1.0 / n_windows if added is None else added)
        values[k] = confirmed.mean() if add_up == "mean" else confirmed.sum()
    return values


# -- segmentation --------------------------------------------------------------------------------------------


def each_with_better(n: int) -> Segments:
    """Every word with every better word of its topic."""
    worse, better = np.tril_indices(n, -1)
    return Segments(np.eye(n, dtype=bool)[worse], np.eye(n, dtype=bool)[better])


def each_with_all(n: int) -> Segments:
    """Every word with the set of all the topic's words, itself included."""
    return Segments(np.eye(n, dtype=bool), np.ones((n, n), bool))


# -- confirmation: joint[i, j] is the share of windows with both words, joint[i, i] the share with word i ----


def log_conditional(joint: FloatArray, segments: Segments, epsilon: float) -> FloatArray:
    """log (P(left, right) + ε) / P(right); log (P(left) + ε) if the right word is unseen."""
    i, j = segments.left.argmax(axis=1), segments.right.argmax(axis=1)
    given = joint[j, j]
    seen = given > 0
    together = np.where(seen, joint[i, j], joint[i, i])
    return np.asarray(np.log(together + epsilon) - np.log(np.where(seen, given, 1.0)))


def normalised_information(joint: FloatArray, segments: Segments, epsilon: float) -> FloatArray:
    """NPMI of the left and the right word."""
    i, j = segments.left.argmax(axis=1), segments.right.argmax(axis=1)
    return np.asarray(_npmi(joint, epsilon)[i, j])


def cosine_of_contexts(joint: FloatArray, segments: Segments, epsilon: float) -> FloatArray:
    """Cosine of the two sides' context vectors: sums of their words' NPMI with every word of the topic."""
    contexts = _npmi(joint, epsilon)
    left, right = (product(np.asarray(side, np.float64), contexts) for side in (segments.left, segments.right))
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    dots = np.einsum("sv,sv->s", left, right)
    return np.asarray(np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0))


def _npmi(joint: FloatArray, epsilon: float) -> FloatArray:
    """NPMI of all pairs of a topic's words, within −1 and 1.

    Where there is no evidence it is 0, the value of independent words: with a word that is never seen, and
    with one that is in every window (there the quotient is ε's noise, which a cosine would blow up). A pair
    never seen together stays at or below 0; without the cap a fixed ε would reward two words that are each
    rarer than √ε.
    """
    single = np.diagonal(joint)
    apart = np.outer(single, single)
    smoothed = joint + epsilon
    varies = (single > 0) & (single < 1)
    telling = np.outer(varies, varies) & (smoothed < 1)
    never = telling & (joint == 0)
    value = np.zeros_like(joint)
    if epsilon == 0:  # the limit of the quotient
        value[never] = -1.0
        telling &= ~never
    logs = np.log(smoothed[telling])
    value[telling] = (logs - np.log(apart[telling])) / -logs
    value[never] = np.minimum(value[never], 0.0)
    return np.clip(value, -1.0, 1.0)


MEASURES = {
    "u_mass": Measure(each_with_better, "document", log_conditional, "mean", None),
    "c_npmi": Measure(each_with_better, 10, normalised_information, "mean", 1e-12),  # symmetric: each pair once
    "c_v": Measure(each_with_all, 110, cosine_of_contexts, "mean", 1e-12),
}


# -- probability: counting windows ---------------------------------------------------------------------------


def _count_together(lists: Sequence[Int64Array], corpus: Corpus, length: int) -> tuple[Int64Array, int]:
    """Windows that hold both words, [topic, word, word], within each topic; and how many windows there are.

    A token lies in a run of consecutive windows, so a word's windows are a short list of runs, and those that
    it shares with another are found by walking the two lists once: the cost is one pass over the tokens and
    one over the words' runs for each pair, whatever the window's length.
    """
    if corpus.weights is not None:
        corpus = corpus.keep_tokens(corpus.weights > 0)  # a weight of 0 is an absent word
    wanted = np.unique(np.concatenate(lists))
    rank = np.full(corpus.n_words, -1, np.int32)
    rank[wanted] = np.arange(len(wanted), dtype=np.int32)
    ptr = np.zeros(len(wanted) + 1, np.int64)
    np.cumsum(np.bincount(corpus.words, minlength=corpus.n_words)[wanted], out=ptr[1:])
    first, behind = np.empty(ptr[-1], np.int64), np.empty(ptr[-1], np.int64)
    end = ptr[:-1].copy()
    n_windows = _mark_windows(corpus.words, corpus.doc_ptr, rank, length, ptr, first, behind, end)
    # Topics share words, and so pairs: each distinct pair is counted once.
    n = max(map(len, lists))
    words = np.zeros((len(lists), n), np.int64)
    for k, numbers in enumerate(lists):
        words[k, : len(numbers)] = rank[numbers]
    high, low = (
        np.maximum(words[:, :, None], words[:, None, :]),
        np.minimum(words[:, :, None], words[:, None, :]),
    )
    pairs, place = np.unique(high * len(wanted) + low, return_inverse=True)
    shared = np.empty(len(pairs), np.int64)
    _count_shared(pairs // len(wanted), pairs % len(wanted), ptr, end, first, behind, shared)
    return shared[place].reshape(len(lists), n, n), n_windows


@kernel
def _mark_windows(
    words: AnyArray,
    doc_ptr: Int64Array,
    rank: AnyArray,
    length: int,
    ptr: Int64Array,
    first: Int64Array,
    behind: Int64Array,
    end: Int64Array,
) -> int:
    """Runs [first, behind) of windows that hold each wanted word; runs of word r are ptr[r] … end[r] − 1.

    A document of N tokens has N − length + 1 windows, and one if it is shorter than a window, even if it is
    empty.
    """
    base = 0
    for d in range(len(doc_ptr) - 1):
        start = doc_ptr[d]
        last = max(doc_ptr[d + 1] - start - length, 0)
        for t in range(start, doc_ptr[d + 1]):
            r = rank[words[t]]
            if r < 0:
                continue
            i = t - start
            a = base + max(i - length + 1, 0)
            b = base + min(i, last) + 1
            n = end[r]
            if n > ptr[r] and behind[n - 1] >= a:
                behind[n - 1] = b
            else:
                first[n] = a
                behind[n] = b
                end[r] = n + 1
        base += last + 1
    return base


@kernel
def _count_shared(
    left: Int64Array,
    right: Int64Array,
    ptr: Int64Array,
    end: Int64Array,
    first: Int64Array,
    behind: Int64Array,
    shared: Int64Array,
) -> None:
    """shared[p]: windows that hold both word left[p] and word right[p]."""
    for p in range(len(shared)):
        x, last_x = ptr[left[p]], end[left[p]]
        y, last_y = ptr[right[p]], end[right[p]]
        total = 0
        while x < last_x and y < last_y:
            total += max(min(behind[x], behind[y]) - max(first[x], first[y]), 0)
            if behind[x] < behind[y]:
                x += 1
            else:
                y += 1
        shared[p] = total


# -- checks --------------------------------------------------------------------------------------------------


def _word_numbers(topics: Topics, corpus: Corpus, n_words: int) -> list[Int64Array]:
    check_n_words(n_words)
    if is_matrix(topics):
        best = top_words(as_array("topics", topics), n_words)
        if np.shape(topics)[1] != corpus.n_words:
            raise InputError(
                f"topics has {np.shape(topics)[1]} columns but the corpus has {corpus.n_words} words. "
                "Give lists of words where the reference corpus has another vocabulary."
            )
        lists = list(best)
    else:
        number = {word: v for v, word in enumerate(corpus.vocabulary)}
        lists = []
        for k, words in enumerate(check_word_lists(topics)):
            missing = [word for word in words[:n_words] if word not in number]
            if missing:
                raise InputError(
                    f"topic {k}: the word {missing[0]!r} is not in the vocabulary of the reference corpus. "
                    "Leave it out, or build the corpus with a vocabulary that has it."
                )
            lists.append(np.array([number[word] for word in words[:n_words]], np.int64))
    for k, numbers in enumerate(lists):
        if len(numbers) < 2:
            raise InputError(
                f"topic {k} has only one word to compare; coherence needs at least two (n_words={n_words})."
            )
    return lists


def _window_length(window: Window, asked_for: bool, corpus: Corpus) -> int:
    if isinstance(window, str) and window == "document":
        return _WHOLE_DOCUMENT
    if not isinstance(window, int | np.integer) or isinstance(window, bool) or window < 1:
        raise InputError(f"window={shown(window)} must be a number of tokens, 1 or more, or 'document'.")
    if corpus.ordered:
        return int(window)
    if asked_for:
        raise InputError(
            f"window={window} needs the order of the words, and this corpus keeps none. "
            "Leave window out to count whole documents, or build the corpus from texts."
        )
    return _WHOLE_DOCUMENT
