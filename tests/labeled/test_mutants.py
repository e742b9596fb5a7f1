"""Wrong restricted samplers and wrong predictions of labels, each of which the tests of the right ones must reject."""

import numpy as np
import pytest

from tests.helpers.mutating import REJECT, compiled_mutant, mutate
from tests.oracles import lda as oracle
from topicloom.engine.blocks import tokens_of
from topicloom.engine.estimator.label_sets import LabelSets
from topicloom.engine.fold_in import Sampling, Sums
from topicloom.engine.prior import DocumentPrior
from topicloom.engine.state import rebuild_counts
from topicloom.labeled.gibbs import LabeledState, make_draw
from topicloom.numerics.rng import path_key, stream

GIBBS = {
    "unrestricted draw": [("new = own[to]", "new = (old + 1) % topic.shape[0]")],
    "labels of the next document": [
        ("own = labels[label_ptr[d] : label_ptr[d + 1]]\n        n_own = own.shape[0]\n        if n_own < 2",
         "own = labels[label_ptr[max(d - 1, 0)] : label_ptr[max(d - 1, 0) + 1]]\n        n_own = own.shape[0]\n"
         "        if n_own < 2"),
    ],
    "α of another phase": [("a = alpha[alpha_row[d]]", "a = 50.0 * alpha[alpha_row[d]] + 30.0 / topic.shape[0]")],
    "α of the label's place in the set": [("doc[to] + a[new]", "doc[to] + a[to]")],
    "token not removed from the word's counts": [("row[old] - 1 + b", "row[old] + b")],
    "token not removed from the document's counts": [("doc[at] - 1 + a[old]", "doc[at] + a[old]")],
    "stale totals": [("topic[old] - 1 + beta_sum[old]", "topic[old] + beta_sum[old]")],
    "totals never updated": [("            topic[old] -= 1\n", ""), ("            topic[new] += 1\n", "")],
    "weights of a run of one word not updated": [("            put(weight, lanes, to, joined)\n", "")],
    "first label never left": [("            if u < stay:", "            if u < stay or at == 0:")],
}  # fmt: skip


def p_value(sweep, which: str, n: int) -> float:
    case, sets = oracle.labeled_cases()[which]
    corpus, prior = case.corpus, case.prior
    ptr = np.concatenate(([0], np.cumsum([len(own) for own in sets])))
    found = LabelSets(ptr, np.array([k for own in sets for k in own], np.int32), case.n_topics)

    def run(z: np.ndarray, replicate: int) -> np.ndarray:
        counts = rebuild_counts(corpus, z, case.n_topics)
        state = LabeledState(counts.z, counts.word_topic, counts.topic, found.ptr, found.label)
        for t in range(2):
            make_draw(corpus, (0, corpus.n_words), prior, sweep)((0, corpus.n_docs), state, stream(31, replicate, t))
        return state.z

    with np.errstate(all="ignore"):
        return oracle.labeled_invariance(case, sets, run, n, seed=32)


@pytest.mark.parametrize("which", oracle.labeled_cases())
def test_the_unchanged_sweep_passes(which: str) -> None:
    assert p_value(mutate("labeled.gibbs").sweep_block, which, 2500) > oracle.FALSE_ALARM


@pytest.mark.parametrize("name", GIBBS)
def test_wrong_sweeps_are_rejected(name: str) -> None:
    sweep = mutate("labeled.gibbs", *GIBBS[name]).sweep_block
    worst = 1.0
    for n in (1500, 10_000):
        for which in oracle.labeled_cases():
            try:
                worst = min(worst, p_value(sweep, which, n))
            except IndexError:  # the counts were driven out of their arrays
                worst = 0.0
            if worst < REJECT:
                return
    assert worst < REJECT


SHORT = {
    "token not removed": [("            doc[old] -= 1\n            if doc[old] == 0:\n                n -= 1",
                           "            if doc[old] == 0:\n                n -= 1")],
    "part with α left out": [("u *= own + sums[last]", "u *= max(own, 1e-9 * sums[last])")],
    "topics of the document left out": [("u *= own + sums[last]", "own = 0.0\n    u *= sums[last]")],
    "soft counts without the exclusion": [("(doc[k] - 1 if k == own else doc[k])", "doc[k]")],
    "soft counts without the part with α": [("out_soft[k] += row[k] * a[k] * scale", "pass")],
}  # fmt: skip


def short_error(fold_in, n_chains: int = 100_000) -> float:
    """Standard errors between the mean counts of a short document and their exact mean."""
    doc, n_topics = [0, 0, 2], 7
    phi = np.random.default_rng(5).dirichlet([0.6] * 3, n_topics).T.copy()
    alpha = np.array([[0.3, 0.8, 0.5, 0.1, 0.6, 0.2, 0.9]])
    states = np.array(list(oracle.all_states(len(doc), n_topics)))
    counts = np.array([np.bincount(z, minlength=n_topics) for z in states])
    p = np.array([np.prod(phi[doc, z]) for z in states])
    p *= np.exp([oracle._dirichlet_multinomial(n, alpha[0]) for n in counts])
    p /= p.sum()
    mean = p @ counts
    error = np.sqrt(p @ (counts - mean) ** 2 / n_chains)
    corpus = oracle.tiny_corpus([doc], 3)
    hard, soft = np.zeros((1, n_topics)), np.zeros((1, n_topics))
    prior, sampling = DocumentPrior(alpha, np.zeros(1, np.int32)), Sampling(n_chains, burn_in=12, thin=1, n_samples=1)
    fold_in(0, 1, tokens_of(corpus), phi, prior, path_key(5), sampling, Sums(hard, soft))
    return float(max(np.abs((out[0] / n_chains - mean) / error).max() for out in (hard, soft)))


def test_unchanged_short_documents_pass() -> None:
    assert short_error(compiled_mutant("engine.fold_in").fold_in) < 5.5


@pytest.mark.parametrize("name", SHORT)
def test_wrong_short_documents_are_rejected(name: str) -> None:
    assert short_error(compiled_mutant("engine.fold_in", *SHORT[name]).fold_in) > 8


def test_the_prior_of_the_wrong_phase_is_rejected() -> None:
    """α of prediction follows eq. 59, α of training eq. 58: each in the place of the other gives other numbers."""
    from topicloom import PriorLDA
    from topicloom.datasets import synthetic_labeled

    corpus = synthetic_labeled(60, 30, 5, seed=1).corpus
    model = PriorLDA(max_iter=5, burn_in=None, holdout=0.0, random_state=0).fit(corpus)
    f = np.array([sum(name in own for own in corpus.labels) for name in model.classes_.tolist()])
    k = len(f)
    np.testing.assert_allclose(model.alpha_, 50 * f / f.sum() + 30 / k, rtol=1e-14)
    np.testing.assert_allclose(model.chains_[0].prior.alpha[0], np.full(k, 50 / k), rtol=1e-14)
    assert np.abs(model.alpha_ - 50 / k).max() > 0.1
    source = mutate("labeled.model", ("self._prediction_prior(), chains[0]", "chains[0].prior.alpha[0], chains[0]"))
    wrong = source.PriorLDA(max_iter=5, burn_in=None, holdout=0.0, random_state=0).fit(corpus)
    assert np.abs(wrong.alpha_ - model.alpha_).max() > 0.1
