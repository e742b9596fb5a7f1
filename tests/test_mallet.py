"""MALLET state files: the same estimates as from our own state, a round trip, and clear errors."""

import gzip
from pathlib import Path

import numpy as np
import pytest

import topicloom
from topicloom import mallet
from topicloom.corpus.corpus import Corpus
from topicloom.engine.estimates import from_assignments, phi, theta, topic_counts
from topicloom.engine.prior import Prior, make_prior
from topicloom.engine.state import State, rebuild_counts
from topicloom.errors import InputError

K = 4
HEADER = "#doc source pos typeindex type topic\n#alpha : 0.5 0.25 \n#beta : 0.01\n"


@pytest.fixture
def corpus() -> Corpus:
    """Twelve documents, the third empty, in text order; words with accents and of other scripts."""
    rng = np.random.default_rng(11)
    lengths = rng.integers(1, 30, 12)
    lengths[2] = 0
    vocabulary = tuple([f"word{v}" for v in range(17)] + ["été", "река", "川"])
    words = rng.integers(0, len(vocabulary), lengths.sum())
    words[: len(vocabulary)] = np.arange(len(vocabulary))  # no word is missing
    ids = tuple(f"texts/{d}.txt" for d in range(12))
    return Corpus(words, np.concatenate(([0], np.cumsum(lengths))), vocabulary, ordered=True, ids=ids)


@pytest.fixture
def prior(corpus: Corpus) -> Prior:
    return make_prior(np.array([0.1, 1 / 3, 2.5e-5, 7.0]), np.full(corpus.n_words, 0.1 + 0.2), corpus.n_docs)


@pytest.fixture
def state(corpus: Corpus) -> State:
    return rebuild_counts(corpus, np.random.default_rng(12).integers(0, K, corpus.n_tokens), K)


def estimates(corpus: Corpus, state: State, prior: Prior) -> tuple[np.ndarray, np.ndarray]:
    counts = topic_counts(corpus, state, prior, "cgs_p")
    assert counts.doc is not None
    assert counts.word is not None
    return theta(counts.doc, 1, corpus, prior), phi(counts.word, 1, prior)


@pytest.mark.parametrize("name", ["state.gz", "state.txt"])
def test_round_trip(tmp_path: Path, corpus: Corpus, state: State, prior: Prior, name: str) -> None:
    mallet.write_state(tmp_path / name, corpus, state, prior)
    found = topicloom.mallet.read_state(tmp_path / name)
    assert found.corpus.ordered
    assert found.corpus.fingerprint == corpus.fingerprint
    assert corpus.ids is not None
    assert found.corpus.ids == (*corpus.ids[:2], "NA", *corpus.ids[3:])
    for ours, theirs in zip((*state, *prior), (*found.state, *found.prior), strict=True):
        np.testing.assert_array_equal(theirs, ours)
        assert theirs.dtype == ours.dtype


def test_the_file_is_what_mallet_writes(tmp_path: Path) -> None:
    corpus = Corpus(np.array([1, 0, 1]), np.array([0, 1, 1, 3]), ("sea", "river"), ids=("a b", "", "c"))
    prior = make_prior(np.array([0.5, 0.25]), np.array([0.01, 0.01]), 3)
    mallet.write_state(tmp_path / "s.gz", corpus, rebuild_counts(corpus, np.array([1, 0, 1]), 2), prior)
    text = gzip.decompress((tmp_path / "s.gz").read_bytes()).decode()
    assert text == HEADER + "0 a_b 0 1 river 1\n2 c 0 0 sea 0\n2 c 1 1 river 1\n"


def test_dense_estimates_from_a_state_file_equal_our_own(
    tmp_path: Path, corpus: Corpus, state: State, prior: Prior
) -> None:
    mallet.write_state(tmp_path / "state.gz", corpus, state, prior)
    expected = estimates(corpus, state, prior)
    for found in (mallet.read_state(tmp_path / "state.gz"), mallet.read_state(tmp_path / "state.gz", corpus)):
        for ours, theirs in zip(expected, estimates(*found), strict=True):
            np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-12)


def test_dense_estimates_from_plain_arrays_in_any_order_equal_our_own(
    corpus: Corpus, state: State, prior: Prior
) -> None:
    order = np.random.default_rng(13).permutation(corpus.n_tokens)
    shuffled = from_assignments(corpus.words[order], corpus.token_docs[order], state.z[order], prior, corpus)
    for ours, theirs in zip(estimates(corpus, state, prior), estimates(corpus, shuffled, prior), strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-12)


def test_dense_estimates_of_a_state_by_the_formulas(tmp_path: Path) -> None:
    """θᵖ and φᵖ of a file, against the full conditionals written out token by token (eqs. 33, 41)."""
    lines = [(0, 0, 1), (0, 1, 0), (0, 0, 1), (1, 2, 1), (1, 0, 0)]  # document, type, topic
    names = ("sea", "river", "bank")
    text = "".join(f"{d} NA 0 {v} {names[v]} {k}\n" for d, v, k in lines)
    (tmp_path / "s.txt").write_text(HEADER + text)
    got_theta, got_phi = estimates(*mallet.read_state(tmp_path / "s.txt"))
    alpha, beta = np.array([0.5, 0.25]), 0.01
    doc_counts, word_counts = np.zeros((2, 2)), np.zeros((3, 2))
    for i, (d, v, _) in enumerate(lines):
        others = lines[:i] + lines[i + 1 :]
        weight = np.array(
            [
                (sum(e == d and m == k for e, _, m in others) + alpha[k])
                * (sum(u == v and m == k for _, u, m in others) + beta)
                / (sum(m == k for _, _, m in others) + 3 * beta)
                for k in range(2)
            ]
        )
        doc_counts[d] += weight / weight.sum()
        word_counts[v] += weight / weight.sum()
    expected_theta = (doc_counts + alpha) / (doc_counts + alpha).sum(axis=1, keepdims=True)
    expected_phi = (word_counts + beta) / (word_counts + beta).sum(axis=0)
    np.testing.assert_allclose(got_theta, expected_theta, rtol=0, atol=1e-12)
    np.testing.assert_allclose(got_phi, expected_phi, rtol=0, atol=1e-12)


def test_a_given_corpus_may_number_words_and_order_tokens_differently(
    tmp_path: Path, corpus: Corpus, state: State, prior: Prior
) -> None:
    mallet.write_state(tmp_path / "state.gz", corpus, state, prior)
    turned = topicloom.from_matrix(corpus.to_matrix()[:, ::-1], corpus.vocabulary[::-1])
    found = mallet.read_state(tmp_path / "state.gz", turned)
    assert found.corpus is turned
    their_theta, their_phi = estimates(*found)
    our_theta, our_phi = estimates(corpus, state, prior)
    np.testing.assert_allclose(their_theta, our_theta, rtol=0, atol=1e-12)
    np.testing.assert_allclose(their_phi[::-1], our_phi, rtol=0, atol=1e-12)


def test_gaps_keep_their_rows_and_numbers(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text(HEADER + "1 NA 0 4 sea 1\n1 NA 1 1 river 0\n4 NA 0 4 sea 0\n")
    found = mallet.read_state(tmp_path / "s.txt")
    assert found.corpus.vocabulary == ("<0>", "river", "<2>", "<3>", "sea")
    assert found.corpus.doc_ptr.tolist() == [0, 0, 2, 2, 2, 3]
    assert found.corpus.empty_docs.tolist() == [True, False, True, True, False]
    assert found.corpus.ids is None
    assert found.prior.alpha.tolist() == [[0.5, 0.25]]


def test_sources_with_blanks_line_ends_and_scattered_documents(tmp_path: Path) -> None:
    lines = ["1 my file 2.txt 0 0 sea 1", "0 a 0 1 river 0", "", "1 my file 2.txt 1 1 river 1", "0 a 1 0 sea 0 "]
    (tmp_path / "s.txt").write_bytes((HEADER + "\r\n".join(lines)).encode())  # the last line has no end
    found = mallet.read_state(tmp_path / "s.txt")
    assert found.corpus.ids == ("a", "my file 2.txt")
    assert found.corpus.words.tolist() == [1, 0, 0, 1]
    assert found.state.z.tolist() == [0, 0, 1, 1]


def test_a_file_of_many_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mallet, "_BLOCK_BYTES", 50)
    monkeypatch.setattr(mallet, "_WRITE_TOKENS", 7)
    corpus = topicloom.datasets.bars(n_docs=40, seed=3).corpus
    prior = make_prior(np.full(3, 0.1), np.full(corpus.n_words, 0.1), corpus.n_docs)
    state = rebuild_counts(corpus, np.random.default_rng(1).integers(0, 3, corpus.n_tokens), 3)
    mallet.write_state(tmp_path / "s.txt", corpus, state, prior)
    found = mallet.read_state(tmp_path / "s.txt")
    np.testing.assert_array_equal(found.state.z, state.z)
    assert found.corpus.fingerprint == corpus.fingerprint
    text = (tmp_path / "s.txt").read_text()
    (tmp_path / "s.txt").write_text(text + "not a token\n")
    with pytest.raises(InputError, match=f"line {corpus.n_tokens + 4}: found 'not a token'"):
        mallet.read_state(tmp_path / "s.txt")


BAD = {
    "0 NA 0 0 sea": "line 4: found '0 NA 0 0 sea', expected 'doc source pos typeindex type topic'",
    "0 NA 0 0 sea 1\n0 NA x 0 sea 1": "line 5: found '0 NA x 0 sea 1'",
    "0 NA 0 0 sea 1\n\n0 NA 1 -1 sea 1": "line 6: found",
    "0 NA 0 0 sea 1.0": "line 4: found",
    "d0 NA 0 0 sea 1": "line 4: found",
    "0 NA 0 0  1": "line 4: found",
    "0 NA 0 12345678901 sea 1": "line 4: found",
    "0 NA 0 0 sea 1\n0 NA 1 0 sea 2": "line 5: .* expected a topic from 0 to 1, as '#alpha :' has 2",
    "0 NA 0 0 sea 1\n0 NA 1 0 river 1": "line 5: .* expected the type 'sea', which index 0 has on an earlier line",
    "0 NA 0 0 sea 1\n0 NA 1 1 sea 1": "has the type 'sea' under two indices, 0 and 1",
    "": "has no token",
}


@pytest.mark.parametrize("lines", BAD)
def test_malformed_lines_are_named(tmp_path: Path, lines: str) -> None:
    (tmp_path / "s.txt").write_text(HEADER + lines + "\n")
    with pytest.raises(InputError, match=BAD[lines]) as caught:
        mallet.read_state(tmp_path / "s.txt")
    assert str(tmp_path / "s.txt") in str(caught.value)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("", "line 1: found '0 NA 0 0 sea 1', expected a MALLET state file"),
        (
            "#doc source pos typeindex type topic\n#beta : 0.1\n",
            "expected a line '#alpha : …' with one number per topic",
        ),
        ("#doc source pos typeindex type topic\n#alpha : 1 2\n", "expected a line '#beta : …' with one number"),
        ("#doc source pos typeindex type topic\n#alpha : 1 two\n#beta : 0.1\n", "line 2: .*numbers after '#alpha :'"),
        ("#doc source pos typeindex type topic\n#alpha : 1 0\n#beta : 0.1\n", "positive numbers after '#alpha :'"),
        ("#doc source pos typeindex type topic\n#alpha : 1 2\n#beta : 1 1\n", "'#beta : …' with one number"),
    ],
)
def test_malformed_headers_are_named(tmp_path: Path, header: str, message: str) -> None:
    (tmp_path / "s.txt").write_text(header + "0 NA 0 0 sea 1\n")
    with pytest.raises(InputError, match=message):
        mallet.read_state(tmp_path / "s.txt")


def test_damaged_files_are_named(tmp_path: Path, corpus: Corpus, state: State, prior: Prior) -> None:
    path = tmp_path / "state.gz"
    mallet.write_state(path, corpus, state, prior)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match="gzip data is damaged"):
        mallet.read_state(path)
    with pytest.raises(InputError, match="cannot be read"):
        mallet.read_state(tmp_path / "none.gz")
    (tmp_path / "s.txt").write_bytes(HEADER.encode() + b"0 NA 0 0 \xff\xfe 1\n")
    with pytest.raises(InputError, match=r"line 4: .*UTF-8"):
        mallet.read_state(tmp_path / "s.txt")


def test_a_corpus_that_was_not_sampled_is_refused(tmp_path: Path, corpus: Corpus, state: State, prior: Prior) -> None:
    path = tmp_path / "state.gz"
    mallet.write_state(path, corpus, state, prior)
    with pytest.raises(InputError, match="has a document 11, but the corpus has 5 documents"):
        mallet.read_state(path, corpus.select(range(5)))
    with pytest.raises(InputError, match="2 types that the corpus's vocabulary lacks, 'word0' first"):
        mallet.read_state(path, corpus.with_vocabulary(corpus.vocabulary[2:]))
    with pytest.raises(InputError, match="do not match the corpus's"):
        mallet.read_state(path, corpus.select([1, 0, *range(2, 12)]))


def test_what_a_state_file_cannot_hold_is_refused(tmp_path: Path, corpus: Corpus, state: State, prior: Prior) -> None:
    path = tmp_path / "state.gz"
    uneven = prior._replace(beta=np.linspace(0.1, 1, corpus.n_words))
    with pytest.raises(InputError, match="one β for all words"):
        mallet.write_state(path, corpus, state, uneven)
    with pytest.raises(InputError, match="one α for all documents"):
        mallet.write_state(path, corpus, state, prior._replace(alpha=np.ones((2, K))))
    with pytest.raises(InputError, match="give the corpus that was sampled"):
        mallet.write_state(path, corpus.select(range(4)), state, prior)
    spaced = Corpus(corpus.words, corpus.doc_ptr, ("new york", *corpus.vocabulary[1:]))
    with pytest.raises(InputError, match="'new york' is empty or holds a blank"):
        mallet.write_state(path, spaced, state, prior)
    assert list(tmp_path.iterdir()) == []
