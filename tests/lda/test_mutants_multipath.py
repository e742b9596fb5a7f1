"""Deliberately wrong samplers of several paths, each of which enumeration over all paths jointly must reject."""

import importlib
import inspect
import types
from collections.abc import Callable

import numpy as np
import pytest

from tests.helpers.sweeping import plain_steps, sweep_once, undecorated
from tests.oracles import lda as oracle
from topicloom.corpus import Corpus
from topicloom.engine.multipath import repeated, repeated_prior
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Key, Schedule
from topicloom.engine.state import rebuild_counts, rebuild_lists
from topicloom.numerics.rng import combine, stream

REPLICATES = 2500
REJECT = 1e-9  # a right program gets this far once in a billion tries
REBUILD = {"dense": rebuild_counts, "sparse": rebuild_lists}


def mutate(module: str, *changes: tuple[str, str]) -> types.SimpleNamespace:
    """The kernel's source with each text replaced by another, run as plain Python."""
    source = inspect.getsource(importlib.import_module(f"topicloom.lda.gibbs.{module}"))
    for old, new in changes:
        assert old in source, f"the mutant's text is gone from {module}: {old!r}"
        source = source.replace(old, new)
    names: dict[str, object] = {"__name__": f"mutant of {module}"}
    plain = undecorated(source)
    exec(compile(plain, f"<mutant of {module}>", "exec"), names)
    names.update(plain_steps(names))
    names["combine"] = lambda key, part: np.uint64(combine(key, part))  # called from Python it gives a plain int
    return types.SimpleNamespace(**names)


Sweep = Callable[[Corpus, Prior, np.ndarray, int], np.ndarray]


def collapsed(module: str, *changes: tuple[str, str]) -> Sweep:
    sweep_block = mutate(module, *changes).sweep_block

    def sweep(corpus: Corpus, prior: Prior, z: np.ndarray, replicate: int) -> np.ndarray:
        state = REBUILD[module](corpus, z, prior.n_topics)
        for t in range(2):
            sweep_once(sweep_block, corpus, state, prior, stream(51, replicate, t))
        return state.z

    return sweep


def partially_collapsed(*changes: tuple[str, str]) -> Sweep:
    partial = mutate("partial", *changes)

    def sweep(corpus: Corpus, prior: Prior, z: np.ndarray, replicate: int) -> np.ndarray:
        state = rebuild_counts(corpus, z, prior.n_topics)
        for t in range(2):
            state, _ = partial._sweep(corpus, state, prior, Key(52, replicate, t), Schedule())
        return state.z

    return sweep


def worst(
    sweep: Sweep, *, corpus_of: Callable[[Corpus], Corpus] | None = None, sizes: tuple[int, ...] = (1, 4)
) -> float:
    """The smallest p-value over cases, with more draws for what is not rejected at once."""
    p = 1.0
    for size in sizes:
        for case in oracle.path_cases().values():
            corpus = repeated(case.corpus, 2) if corpus_of is None else corpus_of(case.corpus)
            prior = repeated_prior(case.prior, 2)

            def run(z: np.ndarray, replicate: int, corpus: Corpus = corpus, prior: Prior = prior) -> np.ndarray:
                return sweep(corpus, prior, z, replicate)

            with np.errstate(all="ignore"):
                p = min(p, oracle.invariance(case, run, size * REPLICATES, seed=53, n_paths=2))
            if p < REJECT:
                return p
    return p


WRONG = {
    "own path's counts not removed": {
        "dense": [("doc[old] - 1 + a[old]", "doc[old] + a[old]")],
        "sparse": [("lines[old, DOC] - 1.0 + lines", "lines[old, DOC] + lines")],
    },
    "token not removed from the shared counts": {
        "dense": [("row[old] - 1 + b", "row[old] + b")],
        "sparse": [("((entries[start + own] >> SHIFT) - 1)", "(entries[start + own] >> SHIFT)")],
    },
}


@pytest.mark.parametrize("module", REBUILD)
def test_the_unchanged_sweeps_pass(module: str) -> None:
    assert worst(collapsed(module), sizes=(1,)) > oracle.FALSE_ALARM


@pytest.mark.parametrize("module", REBUILD)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_sweeps_are_rejected(module: str, name: str) -> None:
    assert worst(collapsed(module, *WRONG[name][module])) < REJECT


def test_shared_counts_that_are_counted_once_are_rejected() -> None:
    """Each path with its own topic-word counts: two plain chains, and not two paths."""
    right = collapsed("dense")

    def alone(corpus: Corpus, prior: Prior, z: np.ndarray, replicate: int) -> np.ndarray:
        half, n_docs = len(z) // 2, corpus.n_docs // 2
        one = corpus.select(np.arange(n_docs))
        own = prior._replace(alpha_row=prior.alpha_row[:n_docs])
        return np.concatenate([right(one, own, part, 2 * replicate + j) for j, part in enumerate((z[:half], z[half:]))])

    assert worst(alone) < REJECT


def test_topics_in_place_of_words_in_the_denominator_are_rejected() -> None:
    """As algorithm 4 is printed: T·η for W·η."""
    right = collapsed("dense")

    def printed(corpus: Corpus, prior: Prior, z: np.ndarray, replicate: int) -> np.ndarray:
        wrong = prior._replace(beta_sum=np.full(prior.n_topics, prior.n_topics * prior.beta.mean()))
        return right(corpus, wrong, z, replicate)

    assert worst(printed) < REJECT


def test_paths_that_share_their_documents_counts_are_rejected() -> None:
    right = collapsed("dense")

    def together(corpus: Corpus, prior: Prior, z: np.ndarray, replicate: int) -> np.ndarray:
        half = len(z) // 2
        order = np.argsort(np.tile(corpus.token_docs[:half], 2), kind="stable")
        ptr = 2 * corpus.doc_ptr[: corpus.n_docs // 2 + 1]
        joined = Corpus(corpus.words[order], ptr, corpus.vocabulary)
        new = np.empty_like(z)
        new[order] = right(joined, prior._replace(alpha_row=prior.alpha_row[: joined.n_docs]), z[order], replicate)
        return new

    assert worst(together) < REJECT


PARTIAL = {
    "token left in its document": [
        ("            doc[old] -= 1\n            if doc[old] == 0:", "            if False:"),
        ("            doc[new] += 1\n", "            doc[new] += 1\n            doc[old] -= 1\n"),
        ("            if doc[new] == 0:", "            if new not in listed[:size]:"),
    ],
    "topics drawn from the prior alone": [("shape = word_topic[v, k] + b", "shape = b")],
    "topics drawn with counts too large": [("shape = word_topic[v, k] + b", "shape = 9 * word_topic[v, k] + b")],
    "topics drawn without the prior": [("shape = word_topic[v, k] + b", "shape = word_topic[v, k] + 1e-9")],
    "topics not normalised": [("            phi[v, k] /= total[k]\n", "            pass\n")],
    "empty topics flat": [("log_gamma(stream, b)", "0.0")],
    "seed words forgotten": [("if boost_row[v] >= 0 else", "if False else")],
    "the prior's part never drawn from": [("if u < total:", "if size > 0:")],
    "prior of the first document for all": [("row = alpha_row[d]", "row = 0")],
    "topics fixed at their means": [
        ("gamma(stream, shape) if shape >= 1.0 else exp(log_gamma(stream, shape))", "shape")
    ],
}


def test_the_unchanged_partial_sampler_passes() -> None:
    assert worst(partially_collapsed(), sizes=(1,)) > oracle.FALSE_ALARM


@pytest.mark.parametrize("name", PARTIAL)
def test_wrong_partial_samplers_are_rejected(name: str) -> None:
    assert worst(partially_collapsed(*PARTIAL[name])) < REJECT
