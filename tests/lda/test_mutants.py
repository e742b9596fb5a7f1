"""Deliberately wrong programs, each of which the tests of the right one must reject.

A mutant is the package's own source with one change, run as plain Python. The right source goes through the same door
first, so that a rejection says something about the change and not about the door.
"""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from tests.helpers.mutating import REJECT, mutate
from tests.helpers.sweeping import sweep_once
from tests.oracles import lda as oracle
from topicloom.corpus import Corpus
from topicloom.engine.blocks import tokens_of, whole
from topicloom.engine.fold_in import Sampling, Sums
from topicloom.engine.learn_priors import RATE
from topicloom.engine.prior import DocumentPrior, Prior, make_prior
from topicloom.engine.soft_counts import dense_scratch
from topicloom.engine.state import rebuild_counts, rebuild_lists
from topicloom.lda.gibbs.online_start import new_rows, place_first
from topicloom.numerics import simd as lanes
from topicloom.numerics.rng import path_key, stream

REPLICATES = 2500


def sweep_p_value(sweep_block, rebuild, case: oracle.Case, wrong: Prior | None = None, n: int = REPLICATES) -> float:
    """p-value that the posterior is invariant under a kernel's sweep."""

    def run(z: np.ndarray, replicate: int) -> np.ndarray:
        state = rebuild(case.corpus, z, case.n_topics)
        for t in range(2):
            sweep_once(sweep_block, case.corpus, state, wrong or case.prior, stream(31, replicate, t))
        return state.z

    with np.errstate(all="ignore"):
        return oracle.invariance(case, run, n, seed=32)


REBUILD = {
    "lda.gibbs.dense": rebuild_counts,
    "lda.gibbs.sparse": rebuild_lists,
    "lda.gibbs.by_word": rebuild_lists,
}
DENSE = {
    "token not removed from the word's counts": [("row[old] - 1 + b", "row[old] + b")],
    "token not removed from the document's counts": [("doc[old] - 1 + a[old]", "doc[old] + a[old]")],
    "stale topic totals": [("topic[old] - 1 + beta_sum[old]", "topic[old] + beta_sum[old]")],
    "totals never updated": [("            topic[old] -= 1\n", ""), ("            topic[new] += 1\n", "")],
    "factors of the old topic not refreshed": [("            coef[old] = coef_out\n", "")],
    "weights of a run of one word not updated": [("            put(weight, lane_sums, new, joined)\n", "")],
    "sum of the weights with the token in it": [("sum_out = total_all - counted + stay", "sum_out = total_all")],
    "prior of the first document for all": [("a = alpha[alpha_row[d]]", "a = alpha[0]")],
    "seed words forgotten": [("seeded = any_seeded and boost_row[v] >= 0", "seeded = False")],
}
NARROW = {  # with two lanes, so that lanes matter with few topics
    "token not taken out of its lane": [("put(weight, lane_sums, old, 0.0)", "weight[old] = 0.0")],
    "lane of the old topic not renewed": [("put(weight, lane_sums, old, stay)", "weight[old] = stay")],
    "lane of the new topic not renewed": [("put(weight, lane_sums, new, joined)", "weight[new] = joined")],
}
REFUSED = ("_REFUSED = 1000", "_REFUSED = 1")  # sums made anew after one draw in vain
SMALL_BLOCKS = ("_AHEAD = 6", "BLOCK, _AHEAD = 0, 6")  # a block a topic, so that blocks matter with few topics
SPARSE = {
    "token weighed in its own list": [("((entries[start + own] >> SHIFT) - 1)", "(entries[start + own] >> SHIFT)")],
    "token not removed from the document's counts": [("lines[old, DOC] - 1.0 + lines", "lines[old, DOC] + lines")],
    "stale topic totals": [("inverse_out = lines[old, INVERSE_OUT]", "inverse_out = lines[old, INVERSE]")],
    "totals without the token not renewed on leaving": [
        ("lines[old, INVERSE_OUT] = lines[old, SHARE] / (lines[old, TOTAL] - 1.0 + lines[old, BETA_SUM])", "pass"),
    ],
    "totals never updated": [
        ("            lines[old, TOTAL] -= 1.0\n", ""), ("            lines[new, TOTAL] += 1.0\n", ""),
    ],
    "mass of the smoothing part with the token in it": [("total_coef - coef[old] + coef_out", "total_coef")],
    "mass of the smoothing part not updated on leaving": [("total_coef += coef_out - coef[old]", "pass")],
    "mass of the smoothing part not updated on joining": [
        ("* inverse\n            total_coef += c - coef[new]\n", "* inverse\n"),
    ],
    "block sums not updated on leaving": [
        SMALL_BLOCKS, ("            blocks[old >> BLOCK] += coef_out - coef[old]\n", ""),
    ],
    "block sums not updated on joining": [
        SMALL_BLOCKS, ("            blocks[new >> BLOCK] += c - coef[new]\n", ""),
    ],
    "block sums with the token in them": [
        SMALL_BLOCKS, ("    blocks[old >> BLOCK] += coef_out - counted\n", ""),
        ("    blocks[old >> BLOCK] += counted - coef_out\n", ""),
    ],
    "smoothing part never drawn from": [("    if u < total:\n        j", "    if size > 0:\n        j")],
    "weights of the last token kept after it moved": [("weight[j] = (entries[start + j] >> SHIFT) * coef[k]", "pass")],
    "document left as it was": [("        c = lines[k, ALPHA] * lines[k, INVERSE]\n", "        c = coef[k]\n")],
    "topic that was joined not left": [("                n_met += 1\n", "")],
    "seed words forgotten": [("seeded = boost_row[v] >= 0", "seeded = False")],
    "prior of the first document for all": [("set_alpha(prior.alpha[row], ", "set_alpha(prior.alpha[0], ")],
}  # fmt: skip
WORDS = {
    "token in its own row": [("((row[old] >> 1) - 1 + more) * per)", "((row[old] >> 1) + more) * per)")],
    "token not removed from the document's counts": [(">> shift) - 1 + alpha[a, old]", ">> shift) + alpha[a, old]")],
    "stale topic totals": [("inverse_out = lines[old, INVERSE_OUT]", "inverse_out = lines[old, INVERSE]")],
    "token in the weights of its document": [("others = total_own - weight[o]", "others = total_own")],
    "the old topic taken twice": [("if new != old and (one_prior", "if (one_prior")],
    "refused draws taken": [("(one_prior or uniform(stream) * largest[new] < alpha[a, new])", "True")],
    "the word's list never drawn from by the prior": [("others + pulled + smooth + lift", "others + smooth + lift")],
    "the prior of all topics never drawn from": [("+ pulled + smooth + lift) - stay", "+ pulled + lift) - stay")],
    "seed words forgotten": [("seed, per, lift = boost_row[v],", "seed, per, lift = -1,")],
    "prior of the first document for all": [("a = 0 if one_prior else alpha_row[doc_start + d]", "a = 0")],
    "factors of the word before": [("        factor[k] = lines[k, INVERSE]\n    return", "    return")],
    "the document's topics not moved": [("n = _move_own(own, at, n, o, j, new, shift)", "pass")],
    "weights of the last token kept after it moved": [("            weighed_doc = -1\n", "")],
    "all weights without the old topic": [REFUSED, ("    total = stay\n", "    total = 0.0\n")],
    "all weights with the token in them": [REFUSED, ("total += weight[j] if j != o else 0.0", "total += weight[j]")],
    "all weights with the old topic twice": [REFUSED, (" * factor[k] if k != old else 0.0", " * factor[k]")],
    "all weights by the first prior": [REFUSED, ("mask, stay, alpha[a], factor", "mask, stay, alpha[0], factor")],
}
SWEEPS = [("lda.gibbs.dense", name, DENSE[name]) for name in DENSE]
SWEEPS += [("lda.gibbs.sparse", name, SPARSE[name]) for name in SPARSE]
SWEEPS += [("lda.gibbs.by_word", name, WORDS[name]) for name in WORDS]


def sweep_of(module: str, *changes: tuple[str, str]):
    kernel = mutate(module, *changes)
    return kernel.sweep_words if module == "lda.gibbs.by_word" else kernel.sweep_block


@pytest.mark.parametrize("module", REBUILD)
@pytest.mark.parametrize("which", oracle.cases())
def test_the_unchanged_sweeps_pass(module: str, which: str) -> None:
    assert sweep_p_value(sweep_of(module), REBUILD[module], oracle.cases()[which]) > oracle.FALSE_ALARM


@pytest.mark.parametrize(("module", "change"), [("lda.gibbs.sparse", SMALL_BLOCKS), ("lda.gibbs.by_word", REFUSED)])
@pytest.mark.parametrize("which", oracle.cases())
def test_small_blocks_and_little_patience_change_nothing(module: str, change: tuple[str, str], which: str) -> None:
    assert sweep_p_value(sweep_of(module, change), REBUILD[module], oracle.cases()[which]) > oracle.FALSE_ALARM


@pytest.mark.parametrize(("module", "name", "changes"), SWEEPS, ids=[f"{m}: {name}" for m, name, _ in SWEEPS])
def test_wrong_sweeps_are_rejected(module: str, name: str, changes: list[tuple[str, str]]) -> None:
    sweep, worst = sweep_of(module, *changes), 1.0
    for n in (REPLICATES, 4 * REPLICATES):  # most are rejected at once; the subtle ones take more draws
        for case in oracle.cases().values():
            try:
                worst = min(worst, sweep_p_value(sweep, REBUILD[module], case, n=n))
            except IndexError:  # the counts were driven out of their arrays: no need to count states
                worst = 0.0
            if worst < REJECT:
                return
    assert worst < REJECT


@pytest.mark.parametrize("name", ["the right one", *NARROW])
def test_lanes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "LANES", 2)
    sweep = mutate("lda.gibbs.dense", *NARROW.get(name, [])).sweep_block
    run = oracle.tiny_corpus([[0, 0, 0, 0], [0, 1]], 2)  # what lanes hold is used again for the next token of a word
    prior = make_prior(np.array([0.2, 0.7, 0.4]), np.array([0.6, 0.1]), 2)
    p = sweep_p_value(sweep, rebuild_counts, oracle.Case(run, prior), n=4 * REPLICATES)
    assert p > oracle.FALSE_ALARM if name == "the right one" else p < REJECT


def test_a_list_that_loses_a_topic_too_soon_is_rejected() -> None:
    kernel, wrong = (mutate(module) for module in ("lda.gibbs.sparse", "engine.count_lists"))
    case = oracle.cases()["two topics"]
    kernel.sweep_block.__globals__["move"] = wrong.move
    assert sweep_p_value(kernel.sweep_block, rebuild_lists, case) > oracle.FALSE_ALARM
    wrong = mutate("engine.count_lists", ("if e < ONE:", "if e < 2 * ONE:"))
    kernel.sweep_block.__globals__["move"] = wrong.move
    assert sweep_p_value(kernel.sweep_block, rebuild_lists, case) < REJECT


CHECKED = (  # weights that are kept from token to token are those that would be made anew
    "                weighed_topic = -1\n",
    "                weighed_topic = -1\n"
    "                now = entries[start : start + list_size[v]]\n"
    "                fresh = [(int(e) >> SHIFT) * coef[int(e) & TOPIC] for e in now]\n"
    "                np.testing.assert_allclose(weight[: len(fresh)], fresh, rtol=1e-9)\n"
    "                np.testing.assert_allclose(total_weight, sum(fresh), rtol=1e-9)\n"
    "                np.testing.assert_allclose(total_coef, coef.sum(), rtol=1e-9)\n"
    "                np.testing.assert_allclose(blocks.sum(), coef.sum(), rtol=1e-9)\n",
)


@pytest.mark.parametrize(
    ("change", "right"),
    [
        (("", ""), True),
        (("total_weight += stay + _mend", "_mend"), False),
        (
            (
                "total_weight -= weight[own] + (weight[at - start] if at < start + size else 0.0)",
                "total_weight -= weight[own]",
            ),
            False,
        ),
        (("(own - 1, own, at - 1, at)", "(own, at - 1, at)"), False),
        (("(own - 1, own, at - 1, at)", "(own - 1, own, at)"), False),
    ],
)
def test_kept_weights_are_those_made_anew(change: tuple[str, str], right: bool) -> None:
    sweep = mutate("lda.gibbs.sparse", change, CHECKED).sweep_block
    rng = np.random.default_rng(5)
    corpus = oracle.tiny_corpus([rng.integers(0, 9, 40).tolist() for _ in range(12)], 9)
    prior = oracle.make_prior(rng.uniform(0.1, 1, 30), rng.uniform(0.05, 0.5, 9), corpus.n_docs)
    state = rebuild_lists(corpus, rng.integers(0, 30, corpus.n_tokens), 30)

    def run() -> None:
        for t in range(20):
            sweep_once(sweep, corpus, state, prior, stream(3, t))

    if right:
        run()
    else:
        with pytest.raises(AssertionError):
            run()


CHECKED_WORDS = (  # what is kept along a word is what would be made anew
    "        list_size[v] = _leave(",
    "            lists = entries[start : start + size]\n"
    "            more = boost[seed] if seed >= 0 else np.zeros(len(coef))\n"
    "            inverse = 1 / (lines[:, TOTAL] + lines[:, BETA_SUM])\n"
    "            some = lines[:, TOTAL] > 0\n"
    "            np.testing.assert_allclose(lines[:, INVERSE], inverse, rtol=1e-12)\n"
    "            less = lines[some, TOTAL] - 1 + lines[some, BETA_SUM]\n"
    "            np.testing.assert_allclose(lines[some, INVERSE_OUT], 1 / less, rtol=1e-12)\n"
    "            np.testing.assert_allclose(factor, inverse * (1 + ((row >> 1) + more) / beta[v]), rtol=1e-12)\n"
    "            np.testing.assert_allclose(coef, largest * inverse, rtol=1e-12)\n"
    "            np.testing.assert_allclose(smooth, coef.sum(), rtol=1e-9)\n"
    "            sums = np.add.reduceat(coef, np.arange(len(blocks)) << BLOCK)\n"
    "            np.testing.assert_allclose(blocks, sums, rtol=1e-9)\n"
    "            np.testing.assert_allclose(pulled, (coef * (row >> 1)).sum() / beta[v], rtol=1e-9, atol=1e-15)\n"
    "            np.testing.assert_allclose(lift, (coef * more).sum() / beta[v], rtol=1e-9)\n"
    "            assert (row >> 1).sum() == counted[v]\n"
    "            assert set(np.flatnonzero(row & 1)) == {int(e) & TOPIC for e in lists}\n"
    "        list_size[v] = _leave(",
)
KEPT = {
    "the right one": ("", ""),
    "row not left": ("row[old] -= 2", "pass"),
    "totals never updated": ("lines[old, TOTAL] -= 1.0", "pass"),
    "totals without the token not renewed on leaving": (
        "lines[old, INVERSE_OUT] = lines[old, SHARE] / (lines[old, TOTAL] - 1.0 + lines[old, BETA_SUM])", "pass",
    ),
    "totals without the token not renewed on joining": ("lines[new, INVERSE_OUT] = lines[new, INVERSE]", "pass"),
    "factor of the topic that was left not renewed": ("factor[old] = factor_out", "pass"),
    "block sums not updated on leaving": ("blocks[old >> BLOCK] += c - coef[old]", "pass"),
    "block sums not updated on joining": ("blocks[new >> BLOCK] += c - coef[new]", "pass"),
    "mass of the list not updated on leaving": ("coef[old] * ((row[old] >> 1) + 1)", "coef[old] * (row[old] >> 1)"),
    "mass of the list not updated on joining": ("coef[new] * ((row[new] >> 1) - 1)", "coef[new] * (row[new] >> 1)"),
    "mass of the smoothing part not updated": ("smooth += c - coef[new]", "pass"),
    "mass of a seed word's boosts not updated": ("lift += (c - coef[old]) * more * per", "pass"),
    "sums not made anew": ("_pull_anew(start, size, entries, row, coef, per)\n", "0.0\n"),
    "a topic that was left stays in a full list": ("size = _drop_left(start, size, entries, row)", "size -= 1"),
}  # fmt: skip


@pytest.mark.parametrize("what", KEPT)
def test_what_is_kept_along_a_word_is_what_would_be_made_anew(what: str) -> None:
    sweep = sweep_of("lda.gibbs.by_word", KEPT[what], CHECKED_WORDS, REFUSED)
    rng = np.random.default_rng(5)
    corpus = oracle.tiny_corpus([rng.integers(0, 5, 30).tolist() for _ in range(8)], 5)
    sweep.__globals__["counted"] = corpus.word_counts
    prior = make_prior(
        rng.uniform(0.1, 1, (2, 600)), rng.uniform(0.05, 0.5, 5), 8, {1: rng.uniform(0, 1, 600)}, np.arange(8) % 2
    )
    state = rebuild_lists(corpus, rng.integers(0, 600, corpus.n_tokens), 600)

    def run() -> None:
        for t in range(6):
            sweep_once(sweep, corpus, state, prior, stream(3, t))
            rebuilt = rebuild_lists(corpus, state.z, 600)
            assert np.array_equal(state.topic, rebuilt.topic)
            assert np.array_equal(state.list_size, rebuilt.list_size)

    if what == "the right one":
        run()
    else:
        with pytest.raises(AssertionError):
            run()


def test_wrong_priors_are_rejected() -> None:
    case = oracle.cases()["two topics"]
    sweep = mutate("lda.gibbs.dense").sweep_block
    prior = case.prior
    beta_sum_over_topics = prior._replace(beta_sum=np.full(2, prior.beta[:2].sum()))
    assert sweep_p_value(sweep, rebuild_counts, case, beta_sum_over_topics, n=6000) < REJECT
    swapped = prior._replace(
        alpha=np.full((1, 2), prior.beta.mean()), beta=np.full(3, prior.alpha.mean()), beta_sum=np.full(2, 1.8)
    )
    assert sweep_p_value(sweep, rebuild_counts, case, swapped) < REJECT


def soft_error(add_soft_counts) -> float:
    """Largest difference from sums of conditionals made of ratios of the joint."""
    case, z = oracle.random_case(3, 4, 5, 3)
    corpus = case.corpus
    state = rebuild_counts(corpus, z, 3)
    doc, word = np.zeros((corpus.n_docs, 3)), np.zeros((corpus.n_words, 3))
    keys = np.empty(corpus.n_tokens, np.int64)
    add_soft_counts(whole(corpus), tokens_of(corpus), state, case.prior, doc, word, dense_scratch(case.prior), keys)
    expected_doc, expected_word = np.zeros_like(doc), np.zeros_like(word)
    for token in range(corpus.n_tokens):
        p = oracle.conditional(corpus, z, case.prior, token)
        expected_doc[corpus.token_docs[token]] += p
        expected_word[corpus.words[token]] += p
    return float(max(np.abs(doc - expected_doc).max(), np.abs(word - expected_word).max()))


SOFT = {
    "no exclusion": [
        ("(word_topic[v, own] - 1 + b) * (doc[own] - 1 + a[own]) / (topic[own] - 1 + beta_sum[own])",
         "(word_topic[v, own] + b) * (doc[own] + a[own]) / (topic[own] + beta_sum[own])"),
    ],
    "exclusion from the document's counts only": [("word_topic[v, own] - 1 + b", "word_topic[v, own] + b")],
    "once for each word type, whatever the topic": [("keys[j] == key:", "keys[j] // n_topics == key // n_topics:")],
}  # fmt: skip


def test_unchanged_soft_counts_pass() -> None:
    assert soft_error(mutate("engine.soft_counts").add_soft_counts) < 1e-12


@pytest.mark.parametrize("name", SOFT)
def test_wrong_soft_counts_are_rejected(name: str) -> None:
    assert soft_error(mutate("engine.soft_counts", *SOFT[name]).add_soft_counts) > 1e-3


def foldin_error(fold_in, doc: list[int], n_chains: int = 200_000) -> float:
    """How many standard errors the mean counts are from the exact posterior mean (the worse of hard and soft)."""
    phi = np.array([[0.5, 0.1, 0.2], [0.2, 0.7, 0.3], [0.3, 0.2, 0.5]])
    alpha = np.array([[0.3, 0.8, 0.5]])
    states = np.array(list(oracle.all_states(len(doc), 3)))
    counts = np.array([np.bincount(z, minlength=3) for z in states])
    p = np.array([np.prod(phi[doc, z]) for z in states])
    p *= np.exp([oracle._dirichlet_multinomial(n, alpha[0]) for n in counts])
    p /= p.sum()
    mean = p @ counts
    error = np.sqrt(p @ (counts - mean) ** 2 / n_chains)
    hard, soft = np.zeros((1, 3)), np.zeros((1, 3))
    corpus = oracle.tiny_corpus([doc], 3)
    prior, sampling = DocumentPrior(alpha, np.zeros(1, np.int32)), Sampling(n_chains, burn_in=12, thin=1, n_samples=1)
    fold_in(0, 1, tokens_of(corpus), phi, prior, path_key(5), sampling, Sums(hard, soft))
    return float(max(np.abs((out[0] / n_chains - mean) / error).max() for out in (hard, soft)))


FOLDIN = {
    "token not removed": [("            mix[old] = doc[old] + alpha[old]\n", "")],
    "soft counts without the exclusion": [("(doc[own] - 1) + alpha[own]", "doc[own] + alpha[own]")],
    "prior left out": [("mix[k] = doc[k] + alpha[k]", "mix[k] = doc[k] + 1e-9")],
}


def test_unchanged_foldin_passes() -> None:
    assert foldin_error(mutate("engine.fold_in", compiled=True).fold_in, [0, 0, 1, 2]) < 5.5


@pytest.mark.parametrize("name", FOLDIN)
def test_wrong_foldin_is_rejected(name: str) -> None:
    assert foldin_error(mutate("engine.fold_in", *FOLDIN[name], compiled=True).fold_in, [0, 0, 1, 2]) > 8


def beta_gradient(learn_beta) -> float:
    """Slope of the likelihood, in log β, where the step settles: 0 at the maximum."""
    rng = np.random.default_rng(1)
    docs = [rng.choice(8, 60, p=rng.dirichlet(np.full(8, 0.4))).tolist() for _ in range(3)]
    corpus: Corpus = oracle.tiny_corpus(docs, 8)
    state = rebuild_counts(corpus, corpus.token_docs, 3)  # a document a topic
    prior = oracle.make_prior(np.ones(3), np.full(8, 0.5), 3)
    for _ in range(300):
        prior = learn_beta(state, prior)

    def log_likelihood(log_beta: np.ndarray) -> float:
        b = np.full(8, np.exp(log_beta[0]))
        return sum(oracle._dirichlet_multinomial(n.astype(float), b) for n in state.word_topic.T) - RATE * b[0]

    return float(np.abs(approx_fprime(np.log(prior.beta[:1]), log_likelihood, 1e-6))[0])


def test_the_printed_step_for_beta_is_rejected() -> None:
    """Without the factor V in the denominator the step runs away from the maximum."""
    right = mutate("engine.learn_priors").learn_beta
    wrong = mutate("engine.learn_priors", ("bottom = n_words * np.sum", "bottom = np.sum")).learn_beta
    assert beta_gradient(right) < 1e-2
    with np.errstate(all="ignore"):  # it overflows, or stops where the likelihood still rises
        assert not beta_gradient(wrong) < 1


# -- the on-line start -----------------------------------------------------------------------------------------------

START = {
    "the right one": [],
    "totals not counted": [("lines[new, TOTAL] += 1.0", "pass")],
    "documents not left": [("leave(lines, coef, blocks, met, n_met)", "pass")],
    "mass of the smoothing part not updated": [("total_coef += c - coef[new]", "pass")],
    "seed words forgotten": [("r == SEEDED,", "False,")],
    "prior of the first document for all": [("set_alpha(prior.alpha[row], ", "set_alpha(prior.alpha[0], ")],
    "refused draws taken": [("if uniform(stream) * pull[new] < lines[new, ALPHA] * lines[new, INVERSE]:", "if True:")],
    "pull not added": [("pulls[r] += pull[new]", "pass")],
    "right with little patience": [REFUSED],
    "pulls of now with those of before": [
        REFUSED,
        ("pulled = _pull_now(rows, r, start, size, entries, lines)", "pass"),
    ],
    "share of the document not renewed": [("share[int(lines[new, PLACE])] = lines[new, DOC] * inverse", "pass")],
}


@pytest.mark.parametrize("what", START)
def test_start(what: str) -> None:
    place = mutate("lda.gibbs.online_start", *START[what], compiled=True).place_tokens
    p = 1.0
    for case in oracle.cases().values():
        observed = np.zeros(case.n_topics**case.corpus.n_tokens)
        state = rebuild_lists(case.corpus, np.zeros(case.corpus.n_tokens, int), case.n_topics)
        rows = new_rows(case.prior, np.flatnonzero(case.prior.boost_row < 0).astype(np.int32)[::2])
        for replicate in range(6000):
            place_first(case.corpus, state, case.prior, rows, stream(33, replicate), place)
            observed[oracle.state_number(state.z, case.n_topics)] += 1
        exact = oracle.start_probabilities(case, list(range(case.corpus.n_tokens)))[1]
        p = min(p, oracle.chi_square(observed, exact))
    if what in ("the right one", "right with little patience"):
        assert p > oracle.FALSE_ALARM
    else:
        assert p < REJECT, f"p = {p:.3g}"
