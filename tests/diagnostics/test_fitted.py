"""Chains of fitted models judged by what does not depend on topics' numbers."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicloom
from tests.helpers.markup import seen
from tests.oracles import lda as oracle
from topicloom import HMM, LDA, CompoundLDA, MedLDAClassifier, VariationalLDA
from topicloom.corpus import Corpus
from topicloom.datasets import bars
from topicloom.diagnostics.fitted import Diagnosis, diagnose
from topicloom.engine import probes
from topicloom.engine.prior import Prior
from topicloom.engine.sampler import Info, Key, Sampler, Schedule
from topicloom.errors import InputError
from topicloom.lda.gibbs import get_sampler
from topicloom.numerics.rng import Purpose, stream, uniform

CASE = oracle.cases()["three topics"]


def fit_exactly(sweeps: int = 4000, n_chains: int = 4, model: type[LDA] = LDA) -> LDA:
    """Long chains on a corpus whose posterior can be listed."""
    prior = CASE.prior
    return model(
        CASE.n_topics, doc_topic_prior=prior.alpha[0], topic_word_prior=prior.beta, max_iter=sweeps, trace_every=1,
        n_chains=n_chains, sampler="dense", random_state=3, learn_priors=False,
    ).fit(CASE.corpus)  # fmt: skip


def expected(corpus: Corpus) -> np.ndarray:
    """Exact posterior means of all probes."""
    states, probability = oracle.posterior(CASE)
    alpha = CASE.prior.alpha[0]
    sizes = [np.bincount(z, minlength=CASE.n_topics) for z in states]
    values = [probes.measure(corpus, np.asarray(z), n, lambda _: alpha) for z, n in zip(states, sizes, strict=True)]
    return np.asarray(probability @ np.array(values))


@pytest.fixture(scope="module")
def exact() -> LDA:
    return fit_exactly()


def test_exact_chains_agree_and_their_means_are_the_posteriors(exact: LDA) -> None:
    found = diagnose(exact)
    assert found.quantities is not None
    assert np.nanmax(found.quantities.rhat) < 1.01
    assert found.verdict.agree
    assert found.verdict.enough
    names = list(found.quantities.names)
    means = dict(zip(probes.probes_of(exact.corpus_).names, expected(exact.corpus_), strict=True))
    compared = 0
    for row in found.quantities.rows():
        if row.name in means:
            compared += 1
            assert abs(row.mean - means[row.name]) < 5.5 * row.mcse, row  # once in 10⁷ beyond it
    assert compared > 5
    assert names[0] == "log joint probability"


def test_a_chain_that_is_stuck_is_noticed(exact: LDA) -> None:
    """A chain whose first document keeps the topics that it had."""
    trace = exact.traces_[2]
    before = list(trace.probes)
    frozen = np.array(before[len(before) // 2])
    trace.probes[:] = [np.where(np.arange(len(values)) < 4, frozen, values) for values in before]
    try:
        found = diagnose(exact)
    finally:
        trace.probes[:] = before
    assert not found.verdict.agree
    assert "do not agree" in str(found)


def gibbs_in_python(stuck_chain: int) -> Sampler:
    """The dense sampler token by token. In one chain the last topic is frozen: no token leaves it, and none enters."""
    dense, frozen = get_sampler("dense"), CASE.n_topics - 1

    def sweep(corpus: Corpus, state: Any, prior: Prior, key: Key, schedule: Schedule) -> tuple[Any, Info]:
        z, rng = state.z.copy(), stream(key.seed, Purpose.SWEEP, key.chain, key.sweep)
        for i in range(corpus.n_tokens):
            if key.chain != stuck_chain or z[i] != frozen:
                weights = dense.conditional(corpus, dense.restore(corpus, z, CASE.n_topics), prior, i)
                weights[frozen] *= key.chain != stuck_chain
                z[i] = np.searchsorted(np.cumsum(weights), uniform(rng) * weights.sum(), side="right")
        return dense.restore(corpus, z, CASE.n_topics), Info(0, 0)

    return replace(dense, sweep=sweep, sweeps=None)


@pytest.mark.parametrize("stuck_chain", [-1, 2])
def test_a_sampler_that_freezes_a_topic_in_one_chain_is_noticed(stuck_chain: int) -> None:
    class Mutant(LDA):
        def _sampler_for(self, corpus: Corpus) -> Sampler:
            return gibbs_in_python(stuck_chain)

    model = fit_exactly(sweeps=400, model=Mutant)
    late = np.array(model.traces_[2].topic_sizes)[200:, -1]
    assert (np.ptp(late) == 0) == (stuck_chain == 2)
    found = diagnose(model)
    assert found.verdict.agree == (stuck_chain == -1)  # without a stuck chain the same program passes
    assert found.quantities is not None
    worst = np.nanmax(found.quantities.rhat)
    assert worst > 1.2 if stuck_chain == 2 else worst < 1.05
    assert ("do not agree" in str(found)) == (stuck_chain == 2)


def test_probes_do_not_depend_on_topics_numbers() -> None:
    corpus = bars(n_docs=30).corpus
    z = np.random.default_rng(0).integers(0, 5, corpus.n_tokens)
    other = np.array([3, 0, 4, 1, 2])[z]
    found, renamed = (probes.measure(corpus, x, np.bincount(x, minlength=5)) for x in (z, other))
    np.testing.assert_allclose(found, renamed, rtol=1e-12)
    pairs = probes.probes_of(corpus)
    assert len(pairs.names) == len(found)
    words, docs = corpus.words, corpus.token_docs
    first, second = pairs.tokens.T
    assert np.all((docs[first] == docs[second]) | (words[first] == words[second]))
    assert np.all(first < second)
    assert len({tuple(pair) for pair in pairs.tokens.tolist()}) == len(pairs.tokens)


@pytest.mark.parametrize("docs", [[[0]], [[0], [1]], [[], [0, 0, 0]]])
def test_probes_of_next_to_nothing(docs: list[list[int]]) -> None:
    corpus = oracle.tiny_corpus(docs, 2)
    z = np.zeros(corpus.n_tokens, np.uint16)
    assert len(probes.measure(corpus, z, np.bincount(z, minlength=2))) == len(probes.probes_of(corpus).names)


def test_topics_that_not_every_chain_has_are_not_comparable() -> None:
    corpus = bars(n_docs=150).corpus
    model = LDA(8, n_chains=3, max_iter=120, trace_every=2, random_state=1).fit(corpus)
    found = diagnose(model)
    assert len(found.topics) == 8
    for row in found.topics:
        assert row.comparable == (row.chains == 3)
        assert np.isnan(row.rhat) or row.comparable
    assert sum(row.share for row in found.topics) == pytest.approx(1.0, abs=0.5)


def test_one_chain_says_what_it_cannot_show() -> None:
    model = LDA(3, max_iter=60, trace_every=2, random_state=0).fit(bars(n_docs=40).corpus)
    found = diagnose(model)
    assert found.n_chains == 1
    assert "One chain cannot show what another would find" in str(found)


def test_a_model_that_draws_nothing_says_whether_it_stands_still() -> None:
    corpus = bars(n_docs=40).corpus
    found = diagnose(VariationalLDA(3, max_iter=200, random_state=0).fit(corpus))
    assert found.quantities is None
    assert found.rows() == []
    assert "have converged after" in str(found)
    short = VariationalLDA(3, max_iter=3, tol=0.0, random_state=0).fit(corpus)
    assert "not converged after 3" in str(diagnose(short))


@pytest.mark.filterwarnings(
    "ignore::topicloom.errors.LostClassesWarning"
)  # of classes that have nothing to do with words
def test_other_families() -> None:
    made = bars(n_docs=40).corpus
    groups = ["a" if d % 2 else "b" for d in range(40)]
    compound = CompoundLDA(3, max_iter=80, trace_every=4, n_chains=2, random_state=0).fit(made, groups=groups)
    assert any("collections" in row.name for row in diagnose(compound).rows())
    classes = MedLDAClassifier(3, max_iter=40, trace_every=2, n_chains=2, random_state=0).fit(made, groups)
    found = diagnose(classes)
    assert found.n_chains == 2
    assert any("decision" in row.name for row in found.rows())
    apart = MedLDAClassifier(3, max_iter=40, trace_every=2, n_chains=2, multi_class="ovr", random_state=0)
    three = diagnose(apart.fit(made, [str(d % 3) for d in range(40)]))
    assert three.n_chains == 2
    assert three.topics == ()
    paths = LDA(3, max_iter=40, trace_every=2, n_chains=2, n_paths=2, random_state=0).fit(made)
    assert diagnose(paths).n_chains == 2
    states = HMM(2, max_iter=40, trace_every=2, n_chains=2, random_state=0).fit([[0, 1, 0, 1, 1, 0] * 5] * 4)
    assert diagnose(states).rows()[0].name == "log joint probability"


def test_a_saved_model_says_the_same(tmp_path: Path, exact: LDA) -> None:
    exact.save(tmp_path / "model")
    before, after = diagnose(exact), diagnose(topicloom.load(tmp_path / "model"))
    assert before.to_dict() == after.to_dict()


def test_files(tmp_path: Path, exact: LDA) -> None:
    found: Diagnosis = diagnose(exact)
    found.to_json(tmp_path / "found.json")
    assert json.loads((tmp_path / "found.json").read_text())["agree"] is True
    found.to_html(tmp_path / "found.html")
    page = (tmp_path / "found.html").read_text(encoding="utf-8")
    assert found.verdict.text in seen(page)
    assert "Content-Security-Policy" in page
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.parametrize(
    ("change", "message"),
    [({"discard": 4000}, "leaves none"), ({"discard": 3998}, "at least 4"), ({"max_rhat": 0.5}, "max_rhat"),
     ({"discard": -1}, "discard")],
)  # fmt: skip
def test_wrong_options_are_refused(exact: LDA, change: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        diagnose(exact, **change)  # type: ignore[arg-type]


def test_what_is_not_fitted_is_refused() -> None:
    for thing in (LDA(3), np.zeros(3), "model"):
        with pytest.raises(InputError, match="fitted model"):
            diagnose(thing)
