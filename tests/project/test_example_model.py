"""The example to copy is a whole model: exact, and it fits, saves, loads, stops and resumes."""

import inspect
import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

import topicloom
from examples.new_model import sampler as example
from examples.new_model.model import DocumentClusters
from tests.helpers.sweeping import undecorated
from tests.oracles import lda as oracle
from topicloom.datasets import synthetic_lda
from topicloom.engine.prior import make_prior
from topicloom.engine.sampler import Key, Schedule
from topicloom.errors import StorageError

CORPUS = oracle.tiny_corpus([[0, 0, 1], [1, 2], [2, 2, 0], []], 3)
PRIOR = make_prior(np.array([0.7, 1.9]), np.array([0.3, 0.8, 0.5]), 4)


def posterior() -> tuple[list[tuple[int, ...]], np.ndarray]:
    """All states, and their probabilities by the joint that is written out token by token."""
    states = list(itertools.product(range(2), repeat=CORPUS.n_docs))
    logs = []
    for z in states:
        value = oracle._dirichlet_multinomial(np.bincount(z, minlength=2), PRIOR.alpha[0])
        for k in range(2):
            own = CORPUS.words[np.array(z)[CORPUS.token_docs] == k]
            value += oracle._dirichlet_multinomial(np.bincount(own, minlength=3), PRIOR.beta)
        logs.append(value)
    shares = np.exp(np.array(logs) - np.max(logs))
    return states, shares / shares.sum()


def test_the_joint_and_the_conditionals_are_those_of_the_definition() -> None:
    states, shares = posterior()
    values = [example.log_joint(CORPUS, example.restore(CORPUS, np.array(z), 2), PRIOR) for z in states]
    np.testing.assert_allclose(np.exp(np.array(values) - np.max(values)), shares / shares.max(), rtol=1e-12)
    for z in states:
        state = example.restore(CORPUS, np.array(z), 2)
        for doc in range(CORPUS.n_docs):
            weight = example.conditional(CORPUS, state, PRIOR, doc)
            others = [shares[states.index((*z[:doc], k, *z[doc + 1 :]))] for k in range(2)]
            np.testing.assert_allclose(weight / weight.sum(), np.array(others) / np.sum(others), rtol=1e-12)


def p_value(sweep, n: int = 24_000) -> float:
    """Starts from the exact posterior and makes one sweep: the posterior must still be there."""
    states, shares = posterior()
    starts = np.random.default_rng(0).choice(len(states), n, p=shares)
    found = np.zeros(len(states))
    for i, start in enumerate(starts):
        state, _ = sweep(CORPUS, example.restore(CORPUS, np.array(states[start]), 2), PRIOR, Key(1, 0, i), Schedule())
        found[states.index(tuple(state.z.tolist()))] += 1
    return float(chisquare(found, shares * n).pvalue)


def test_the_posterior_is_invariant() -> None:
    assert p_value(example.sweep) > oracle.FALSE_ALARM


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("+ seen + beta", "+ beta"),
        ("docs[k] + alpha[k]", "docs[k] + 1.0"),
        ("topic[k] + n + total", "topic[k] + total"),
        ("_move(d, old, -1,", "_move(d, old, 0,"),
    ],
)
def test_mutants_are_rejected(right: str, wrong: str) -> None:
    source = inspect.getsource(example)
    assert right in source
    names: dict[str, object] = {"__name__": "mutant"}
    exec(compile(undecorated(source.replace(right, wrong)), "<mutant>", "exec"), names)
    assert p_value(names["sweep"]) < 1e-7


def test_it_is_a_model_like_the_others(tmp_path: Path) -> None:
    corpus = synthetic_lda(40, 30, 3, doc_length=25, seed=1).corpus
    given = {"n_components": 3, "max_iter": 12, "n_chains": 2, "trace_every": 2, "random_state": 0}
    straight = DocumentClusters(**given).fit(corpus)
    assert straight.trace_.log_joint[-1] > straight.trace_.log_joint[0]
    np.testing.assert_array_equal(straight.predict(corpus), DocumentClusters(**given, n_jobs=2).fit(corpus).labels_)
    straight.save(tmp_path / "model")
    again = topicloom.load(tmp_path / "model")
    assert isinstance(again, DocumentClusters)
    assert again.fingerprint_ == straight.fingerprint_
    np.testing.assert_array_equal(again.chains_[1].state.words, straight.chains_[1].state.words)
    assert topicloom.resume(tmp_path / "model", max_iter=20).fingerprint_ == (
        DocumentClusters(**given | {"max_iter": 20}).fit(corpus).fingerprint_
    )


def test_a_run_that_is_stopped_goes_on(tmp_path: Path) -> None:
    corpus = synthetic_lda(20, 30, 3, doc_length=15, seed=2).corpus
    given = {"n_components": 3, "max_iter": 9, "random_state": 4}

    def stop(chain) -> None:
        if chain.sweep == 5:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        DocumentClusters(**given, checkpoint_dir=tmp_path / "run", checkpoint_every=2).fit(corpus, callbacks=[stop])
    assert topicloom.resume(tmp_path / "run").fingerprint_ == DocumentClusters(**given).fit(corpus).fingerprint_


def test_a_crafted_checkpoint_is_refused(tmp_path: Path) -> None:
    from topicloom.files.arrays import read_arrays
    from topicloom.files.directories import Stored

    corpus = synthetic_lda(20, 30, 3, doc_length=15, seed=2).corpus
    model = DocumentClusters(3, max_iter=4, random_state=4, checkpoint_dir=tmp_path / "run", checkpoint_every=2)
    with pytest.raises(RuntimeError):
        model.fit(corpus, callbacks=[lambda chain: (_ for _ in ()).throw(RuntimeError) if chain.sweep == 3 else None])
    stored = Stored.open(tmp_path / "run")
    arrays, info, _ = read_arrays(tmp_path / "run" / "chain-0.safetensors")
    stored.save_chain(0, ({**arrays, "z": np.full_like(arrays["z"], 7)}, info))
    with pytest.raises(StorageError, match="'z' has the value 7"):
        topicloom.resume(tmp_path / "run")
