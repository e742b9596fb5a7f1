"""Splits of a corpus: sizes, that nothing is lost, order, seeds, and bad shares."""

import numpy as np
import pytest

from topicloom.corpus.corpus import Corpus
from topicloom.corpus.matrices import from_matrix
from topicloom.corpus.splits import hold_out_tokens, split_documents, split_halves
from topicloom.errors import InputError

COUNTS = np.random.default_rng(5).poisson(0.7, (40, 12))
COUNTS[3] = 0
BAG = from_matrix(COUNTS, ids=[f"d{d}" for d in range(40)])
TEXT = Corpus(words=np.arange(9, dtype=np.int32), doc_ptr=[0, 5, 5, 9], vocabulary=tuple("abcdefghi"), ordered=True)


def test_split_documents():
    train, test = split_documents(BAG, test_share=0.25, seed=1)
    assert (train.n_docs, test.n_docs) == (30, 10)
    numbers = [int(name[1:]) for name in train.ids], [int(name[1:]) for name in test.ids]
    assert sorted(numbers[0] + numbers[1]) == list(range(40))
    assert numbers[0] == sorted(numbers[0])
    assert numbers[1] == sorted(numbers[1])
    assert np.array_equal(test.to_matrix().toarray(), COUNTS[numbers[1]])


def test_split_documents_depends_on_the_seed_alone():
    assert split_documents(BAG, seed=2)[1].ids == split_documents(BAG, seed=2)[1].ids
    assert split_documents(BAG, seed=2)[1].ids != split_documents(BAG, seed=3)[1].ids


@pytest.mark.parametrize("share", [0, 1, -0.5, 1.5, float("nan")])
def test_shares_lie_between_0_and_1(share):
    with pytest.raises(InputError, match="test_share"):
        split_documents(BAG, test_share=share)
    with pytest.raises(InputError, match="share"):
        hold_out_tokens(BAG, share=share)


@pytest.mark.parametrize("share", [0.01, 0.99])
def test_both_parts_need_a_document(share):
    with pytest.raises(InputError, match="both parts"):
        split_documents(BAG, test_share=share)


def test_halves_of_running_text_are_its_halves():
    first, second = split_halves(TEXT)
    assert first.words.tolist() == [0, 1, 2, 5, 6]
    assert second.words.tolist() == [3, 4, 7, 8]
    assert first.doc_ptr.tolist() == [0, 3, 3, 5]
    assert second.ordered


def test_halves_of_counts_are_random_and_lose_nothing():
    first, second = split_halves(BAG, seed=4)
    assert np.array_equal(first.doc_lengths, (BAG.doc_lengths + 1) // 2)
    total = first.to_matrix().toarray() + second.to_matrix().toarray()
    assert np.array_equal(total, COUNTS)
    # The first half must not be the words with small numbers: half of the low words fall in the second.
    low = second.to_matrix().toarray()[:, :6].sum() / COUNTS[:, :6].sum()
    assert 0.35 < low < 0.65
    assert split_halves(BAG, seed=4)[0].fingerprint == first.fingerprint
    assert split_halves(BAG, seed=5)[0].fingerprint != first.fingerprint


@pytest.mark.parametrize("corpus", [BAG, TEXT])
def test_hold_out_tokens(corpus):
    observed, held = hold_out_tokens(corpus, share=0.4, seed=6)
    assert np.array_equal(held.doc_lengths, np.rint(corpus.doc_lengths * 0.4))
    total = observed.to_matrix().toarray() + held.to_matrix().toarray()
    assert np.array_equal(total, corpus.to_matrix().toarray())
    assert hold_out_tokens(corpus, share=0.4, seed=6)[1].fingerprint == held.fingerprint


def test_held_out_tokens_of_running_text_are_drawn_at_random():
    drawn = {tuple(hold_out_tokens(TEXT, share=0.4, seed=seed)[1].words.tolist()) for seed in range(20)}
    assert len(drawn) > 5


def test_every_token_is_equally_likely_to_be_held_out():
    counts = np.zeros(9)
    for seed in range(400):
        counts[hold_out_tokens(TEXT, share=0.4, seed=seed)[1].words] += 1
    # 2 of 5 and 2 of 4 tokens; five standard deviations of a binomial count.
    expected = 400 * np.repeat([0.4, 0.5], [5, 4])
    assert np.all(np.abs(counts - expected) < 5 * np.sqrt(400 * 0.25))


@pytest.mark.parametrize("split", [split_halves, hold_out_tokens])
def test_weights_have_no_whole_tokens(split):
    with pytest.raises(InputError, match="no whole tokens"):
        split(from_matrix([[0.5, 1.0]]))
