"""The reproduction of CVB's figures on small synthetic corpora."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # reproduce/ is not part of the installed package

from reproduce import _cvb_topics, cvb
from reproduce._variational import METHODS, Curve, run, symmetric, token_probability
from topicloom.corpus import Corpus, hold_out_tokens
from topicloom.corpus.formats import write
from topicloom.datasets import synthetic_lda
from topicloom.evaluation import log_likelihood


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return synthetic_lda(n_docs=60, n_words=40, n_topics=4, doc_length=40, seed=1).corpus


def test_test_probability_is_the_plug_in_likelihood(corpus: Corpus) -> None:
    rng = np.random.default_rng(0)
    theta, phi = rng.dirichlet(np.ones(3), 60), rng.dirichlet(np.ones(40), 3)
    p = token_probability(theta, np.ascontiguousarray(phi.T), corpus)
    assert np.log(p).sum() == pytest.approx(log_likelihood(phi, theta, corpus))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns(method: str, corpus: Corpus) -> None:
    train, test = hold_out_tokens(corpus, 0.1, seed=0)
    curve = run(method, train, test, symmetric(train, 4, 0.1, 0.1), 0, (1, 30))
    assert curve.iterations == [1, 30]
    assert curve.test[1] > curve.test[0]
    if method != "Gibbs":
        assert curve.bound[1] > curve.bound[0]
        assert len(curve.second_order) == (2 if method in ("CVB", "CVB0") else 0)


def test_verdicts_say_when_a_claim_fails(corpus: Corpus) -> None:
    good = {m: [Curve([1, 9], [-9.0, -8.0], [-9.0, -8.0], [-9.0, -8.0])] for m in METHODS}
    text = " ".join(cvb.verdicts(good))
    assert (
        "CVB above VB in bound: DOES NOT HOLD on average (+0.0000 per token), from the same seed in 0 of 1 runs" in text
    )
    assert "CVB converges faster than VB: DOES NOT HOLD (CVB 9, VB 9 iterations)" in text
    good["Gibbs"] = [Curve([1, 5, 99], [np.nan] * 3, [-9.0, -7.5, -7.0])]
    good["CVB"] = [Curve([1, 9], [-7.0, -7.0], [-7.5, -7.5], [-7.0, -7.0])]
    text = " ".join(cvb.verdicts(good))
    assert "DOES NOT HOLD" not in text
    assert "in bound: holds on average (+1.0000 per token), from the same seed in 1 of 1 runs" in text
    assert "CVB converges faster than VB: holds (CVB 1, VB 9 iterations)" in text
    assert "Gibbs 99 iterations" in text
    shown = cvb.report("made up", corpus, 4, good)
    assert "| CVB, second order | -7.0000 | -7.0000 |" in shown
    assert "nan" not in shown


def test_perplexity_and_likelihood_against_topics(corpus: Corpus, tmp_path: Path) -> None:
    folder = tmp_path / "reuters21578"
    folder.mkdir()
    write(corpus, folder / "docword.npz", vocabulary=folder / "vocab.txt")
    text = _cvb_topics.section(tmp_path, _cvb_topics.Budget((3,), (2, 20), 20, 10))
    assert "| 3 |" in text
    assert "3, CVB0" in text
    assert "VB has the highest perplexity at K =" in text
