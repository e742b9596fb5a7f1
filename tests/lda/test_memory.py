"""What is said about memory is what a fit takes."""

from pathlib import Path

import numpy as np
import pytest

from topicloom import Corpus
from topicloom.corpus.stored import load_corpus, save_corpus
from topicloom.datasets import zipf
from topicloom.engine.prior import make_prior
from topicloom.engine.sampler import Key
from topicloom.engine.state import State
from topicloom.errors import InputError
from topicloom.lda.gibbs import get_sampler, sampler_names
from topicloom.lda.memory import Sizes, estimate


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return zipf(20_000, 400, 5, seed=1).corpus


@pytest.mark.parametrize("sampler", sampler_names())
@pytest.mark.parametrize("n_topics", [3, 50])
def test_a_chain_takes_what_is_said(sampler: str, n_topics: int, corpus: Corpus) -> None:
    prior = make_prior(np.full(n_topics, 0.1), np.full(corpus.n_words, 0.1), corpus.n_docs)
    state = get_sampler(sampler).init(corpus, prior, Key(0, 0, 0))
    plan = estimate(corpus, n_topics, sampler)
    assert plan.tokens == corpus.words.nbytes
    assert plan.assignments == state.z.nbytes
    held = sum(array.nbytes for array in state[1:])
    form = sampler if sampler != "auto" else "dense" if isinstance(state, State) else "sparse"
    assert held == estimate(corpus, n_topics, form).counts
    assert plan.sampling >= plan.tokens + plan.assignments + held
    assert plan.doc_topic == 8 * corpus.n_docs * n_topics


def test_what_sweeps_need_beside_is_counted(corpus: Corpus) -> None:
    n, v = corpus.n_tokens, corpus.n_words
    sweeps = [estimate(corpus, 1000, name).sweep for name in ("dense", "sparse", "words", "auto")]
    assert sweeps == [0, 0, 12 * corpus.n_tokens + 8 * v, 4 * v * 1000]
    assert estimate(corpus, 10, "mh", 3).sweep == 3 * 2 * n + 8 * (n + v)
    assert estimate(corpus, 10, "warp", 3, n_mh=4).sweep == 3 * 2 * 5 * n + 4 * n + 8 * v


def test_chains_and_averages_add_up(corpus: Corpus) -> None:
    one, four = estimate(corpus, 10, "dense"), estimate(corpus, 10, "dense", 4, averaged=True)
    assert (four.counts, four.assignments, four.tokens) == (4 * one.counts, 4 * one.assignments, one.tokens)
    assert one.averages == 0
    assert four.averages == 6 * 8 * 10 * (corpus.n_docs + corpus.n_words)
    assert one.peak == one.sampling + one.estimates
    assert estimate(corpus, 70_000, "dense").assignments == 2 * one.assignments


def test_sizes_bound_what_a_corpus_takes(corpus: Corpus) -> None:
    sizes = Sizes(corpus.n_docs, corpus.n_words, corpus.n_tokens)
    for sampler in sampler_names():
        for n_topics in (2, 1000):
            known, bound = estimate(corpus, n_topics, sampler), estimate(sizes, n_topics, sampler)
            assert known.counts <= bound.counts
            assert known.tokens == bound.tokens
            assert known.peak <= bound.peak


def test_what_is_in_files_is_not_in_memory(corpus: Corpus, tmp_path: Path) -> None:
    save_corpus(corpus, tmp_path / "c.safetensors")
    here, there = estimate(corpus, 5), estimate(load_corpus(tmp_path / "c.safetensors", mapped=True), 5)
    assert not here.mapped
    assert there.mapped
    assert here.sampling - there.sampling == there.in_files == 6 * corpus.n_tokens
    assert "with tokens 0.1 MB, their topics 0.1 MB in files" in str(there)


def test_the_text_says_it_all() -> None:
    text = str(estimate(Sizes(500_000, 50_000, 10**8), 1000, "dense", 2))
    assert text == (
        "memory: about 1.2 GB while sampling (tokens 400 MB, their topics 400 MB, counts 400 MB, the rest 15 MB); "
        "up to 2.4 GB when estimates are made; doc_topic_, made when it is asked for, is 4.0 GB."
    )


def test_senseless_sizes_are_refused(corpus: Corpus) -> None:
    with pytest.raises(InputError, match="n_topics=0, n_chains=1 and n_paths=1 must be at least 1"):
        estimate(corpus, 0)
