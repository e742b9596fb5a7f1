"""The reproductions' own computations on small synthetic corpora."""

import gzip
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # reproduce/ is not part of the installed package

from reproduce import _adjacent, _association, _completion, _counts, _samplers, cgs_p
from reproduce._common import command_line, load_split, table, train_to
from topicloom import from_matrix, mallet
from topicloom.corpus import Corpus, split_documents
from topicloom.corpus.formats import write
from topicloom.datasets import synthetic_lda
from topicloom.engine.estimates import phi, theta, topic_counts
from topicloom.engine.run import Chain
from topicloom.engine.state import State, rebuild_counts
from topicloom.errors import InputError
from topicloom.evaluation import log_likelihood
from topicloom.lda.gibbs import get_sampler


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return synthetic_lda(n_docs=80, n_words=40, n_topics=4, doc_length=40, seed=1).corpus


@pytest.fixture(scope="module")
def chain(corpus: Corpus) -> Chain:
    return train_to(corpus, 3, 10, seed=2)


def dense_state(chain: Chain) -> State:
    assert isinstance(chain.state, State)
    return chain.state


def test_completion_orders_the_estimators_and_brings_them_together() -> None:
    # Flat topics and short documents leave much doubt about z, which is what the estimators differ in: over 20 seeds
    # the gap with one sample is 4.5 ± 0.9, and with 30 at most an eighth of it is left, so a third is a wide margin.
    corpus = synthetic_lda(n_docs=150, n_words=60, n_topics=6, doc_length=30, alpha=0.3, beta=0.5, seed=1).corpus
    train, test = split_documents(corpus, 0.3, seed=0)
    budget = _completion.Budget(n_topics=8, sweeps=30, burn_in=5, thin=2, samples={1: (1, 30)})
    curves = [_completion.run(train, test, budget, seed) for seed in range(2)]
    for curve in curves:
        assert curve[1, 1][_completion.THETA_P] < curve[1, 1][_completion.PLAIN]
        gaps = [curve[1, n][_completion.PLAIN] - curve[1, n][_completion.THETA_P] for n in (1, 30)]
        assert abs(gaps[1]) < abs(gaps[0]) / 3
    text = _completion.report("made up", "drawn at random", train, test, curves)
    assert "φᵖ+θᵖ" in text
    assert "**converge**" in text


def test_verdicts_say_when_a_claim_fails() -> None:
    worse = dict.fromkeys(_completion.NAMES, 10.0) | {_completion.BOTH: 12.0}
    text = " ".join(_completion.verdicts([{(1, 1): worse, (1, 9): worse}]))
    assert "DOES NOT HOLD" in text
    assert "NOT converge" in text
    assert "DOES NOT STAY" in text


def test_moves_turn_hard_counts_into_soft_ones(corpus: Corpus, chain: Chain) -> None:
    state = dense_state(chain)
    leave, join = _adjacent.moves(corpus, state, chain.prior, restricted=False)
    soft = topic_counts(corpus, chain.state, chain.prior, "cgs_p", docs=False).word
    assert soft is not None
    np.testing.assert_allclose(state.word_topic - leave + join, soft, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("measure", _adjacent.MEASURES)
def test_denominator_terms_equal_a_sum_over_all_adjacent_states(measure: str) -> None:
    corpus = from_matrix([[3, 0, 1, 1], [0, 2, 2, 0], [1, 1, 0, 0]])
    chain = train_to(corpus, 3, 2, seed=5)
    state, prior, kernel = dense_state(chain), chain.prior, get_sampler("dense")
    here = state.topic + prior.beta_sum
    # One entry an adjacent state: its weight, its redrawn token, and its counts.
    weights, tokens, states = [], [], []
    for j in range(corpus.n_tokens):
        conditional = kernel.conditional(corpus, state, prior, j)
        conditional /= conditional.sum()
        for k in range(3):
            z = state.z.copy()
            z[j] = k
            if measure == "posterior":
                weight = conditional[k] / conditional[state.z[j]] if k != state.z[j] else 1.0 * (j == 0)
            else:
                weight = conditional[k]
            weights.append(weight)
            tokens.append(j)
            states.append(rebuild_counts(corpus, z, 3))
    weight_of = np.array(weights) / np.sum(weights)
    a, b = np.zeros((2, corpus.n_words, 3))
    for weight, j, other in zip(weight_of, tokens, states, strict=True):
        if measure == "estimator":  # the term of token j alone, and β
            top = np.zeros_like(a)
            top[corpus.words[j], other.z[j]] = corpus.n_tokens
        else:
            top = other.word_topic.astype(np.float64)
        a += weight * (top + prior.beta[:, None]) / (other.topic + prior.beta_sum)
        b += weight * (top + prior.beta[:, None]) / here
    found_a, found_b = _adjacent.denominator_terms(corpus, state, prior, measure)
    np.testing.assert_allclose(found_a, a, rtol=1e-10)
    np.testing.assert_allclose(found_b, b, rtol=1e-10)
    # Eq. 48; it holds for any distribution over adjacent states.
    assert np.all(found_a <= found_b * here / (here - 1))
    assert np.all(found_a >= found_b * here / (here + 1))


def test_denominator_error_falls_as_documents_are_added(corpus: Corpus, chain: Chain) -> None:
    lines = _adjacent.report(corpus, chain.state.z, chain.prior, [10, 80]).splitlines()
    few, all_docs = ([float(x) for x in line.split("|")[3:7]] for line in lines[2:])
    assert all(a > b for a, b in zip(few, all_docs, strict=True))


def test_count_rows_follow_equation_60(corpus: Corpus, chain: Chain) -> None:
    differences, rows = _counts.count_rows(corpus, 3, [5, 10], seed=2)
    hard = topic_counts(corpus, chain.state, chain.prior, "standard").doc
    soft = topic_counts(corpus, chain.state, chain.prior, "cgs_p").doc
    assert hard is not None
    assert soft is not None
    assert differences[1] == pytest.approx(np.abs(hard - soft).sum(axis=1).mean())
    assert [row[0] for row in rows] == ["5", "10"]


def test_ranks_leave_out_the_cue_and_share_ties() -> None:
    word_topic = np.array([[0.5, 0.1], [0.2, 0.3], [0.2, 0.3], [0.1, 0.3]])
    # p(w | word 0) is proportional to .5 φ_0w + .1 φ_1w: words 1 and 2 tie for ranks 1 and 2, word 3 follows.
    found = _association.ranks(word_topic, np.array([0, 0, 0]), np.array([1, 2, 3]))
    np.testing.assert_array_equal(found, [1.5, 1.5, 3.0])


def test_pairs_are_the_first_five_known_associates(tmp_path: Path) -> None:
    path = tmp_path / "associations.tsv.gz"
    lines = [
        "cue\ttarget\tpeople",
        "sea\twave\t9",
        "sea\tship\t20",
        "sea\tunheard of\t30",
        "sky\tsea\t1",
        "fog\tsea\t2",
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    norms = _association.load_norms(path)
    assert norms["sea"] == ["unheard of", "ship", "wave"]
    corpus = from_matrix([[2, 1, 0, 1], [3, 0, 4, 0]], ["sea", "ship", "wave", "sky"])
    pairs = _association.pair_up(norms, corpus)
    assert list(zip(pairs.cue, pairs.target, pairs.frequency, strict=True)) == [(0, 1, 5), (0, 2, 5), (3, 0, 1)]
    path.write_bytes(gzip.compress(b"cue\ttarget\n"))
    with pytest.raises(InputError, match="people"):
        _association.load_norms(path)


def test_association_report_groups_by_frequency(corpus: Corpus) -> None:
    corpus = _association.usual_words(corpus)
    assert np.bincount(corpus.words, minlength=corpus.n_words).min() >= _association.LEAST
    norms = {word: list(corpus.vocabulary[:6]) for word in corpus.vocabulary[8:18]}
    pairs = _association.pair_up(norms, corpus)
    assert len(pairs.cue) == 50
    gains = {4: _association.rank_gains(corpus, pairs, 4, sweeps=5, seed=0)}
    assert np.any(gains[4] != 0)
    text = _association.report("made up", corpus, pairs, gains)
    assert "| 1 to 1,000 | 10 | 50 |" in text
    assert f"{np.median(gains[4]):+.1f}" in text


def test_command_runs_on_folders(tmp_path: Path, corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    write(corpus, folder / "docword.npz", vocabulary=folder / "vocab.txt")
    state = tmp_path / "state.gz"
    chain = train_to(corpus, 4, 5, seed=0)
    mallet.write_state(state, corpus, chain.state, chain.prior)
    cgs_p.main(["--data", str(tmp_path), "--corpora", "small", "--denominator-corpus", "small", "--quick", "--runs",
                "2", "--sections", "completion", "topics", "counts", "denominator", "time", "samplers", "mallet",
                "--sampler-corpora", "small", "--topic-corpora", "small", "--mallet-state", str(state)])  # fmt: skip
    text = capsys.readouterr().out
    assert "python -m reproduce.cgs_p --data DATA --corpora small" in text
    assert str(tmp_path) not in text
    assert text.count("\n### ") == 7
    assert "Log-likelihood per training token of MALLET's last state" in text
    for sampler in ("sparse", "warp"):
        assert f"| {sampler} | φᵖ + θᵖ |" in text
        assert f"| small | {sampler} | 20 | 20 |" in text
    with pytest.raises(SystemExit):
        cgs_p.main(["--data", str(tmp_path), "--corpora", "absent"])
    assert "absent" in capsys.readouterr().err


def test_pairs_of_estimators_are_told_apart(corpus: Corpus) -> None:
    chain = train_to(corpus, 5, 30, seed=0)
    found = _samplers.estimate(corpus, chain, list(_samplers.PAIRS)).likelihood
    assert len(set(found.values())) == 4
    counts = topic_counts(corpus, chain.state, chain.prior, "standard")
    hard = log_likelihood(phi(counts.word, 1, chain.prior).T, theta(counts.doc, 1, corpus, chain.prior), corpus)
    assert found["φ + θ"] == hard


def test_published_split_is_used_where_there_is_one(tmp_path: Path, corpus: Corpus) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    write(corpus, folder / "docword.npz", vocabulary=folder / "vocab.txt")
    train, test, how = load_split(tmp_path, "small")
    assert (train.n_docs, test.n_docs) == (64, 16)
    assert "seed 0" in how
    (folder / "split.txt").write_text("train\n" * 50 + "test\n" * 30)
    train, test, how = load_split(tmp_path, "small")
    assert (train.n_docs, test.n_docs, how) == (50, 30, "published split")
    (folder / "split.txt").write_text("train\n")
    with pytest.raises(InputError, match="80 documents"):
        load_split(tmp_path, "small")


def test_tables_and_commands_are_plain_text() -> None:
    assert table(["a", "b"], [[1, 2]]) == "| a | b |\n|---|---:|\n| 1 | 2 |"
    assert command_line("reproduce.x", ["--data=/home/me", "--quick"]) == "python -m reproduce.x --data=DATA --quick"
