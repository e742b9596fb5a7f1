"""Chains on workers in this process: the bits of one process, whatever is lost on the way."""

import numpy as np
import pytest

from topicloom import LDA, CompoundLDA, DependencyLDA, LabeledLDA, MedLDAClassifier, resume
from topicloom.corpus.stored import load_corpus, save_corpus
from topicloom.datasets import bars
from topicloom.engine import places, shards
from topicloom.errors import InputError, WorkersLostWarning
from topicloom.lda.gibbs import growing_start
from topicloom.scale import chain as chains
from topicloom.scale.cluster import InProcess, WorkersLostError
from topicloom.scale.place import Workers

CORPUS = bars(side=4, n_docs=90, seed=3).corpus
GROUPS = [d % 3 for d in range(CORPUS.n_docs)]
LABELS = [[f"l{d % 5}", f"l{d * 7 % 3}"] if d % 4 else [f"l{d % 5}"] for d in range(CORPUS.n_docs)]
SHORT = {"n_shards": 4, "max_iter": 13, "trace_every": 5, "random_state": 1}
KEPT = SHORT | {"burn_in": 6, "thin": 3}


def there(make, n_workers, *args, **given):
    with places.using(Workers(InProcess(n_workers))):
        return make().fit(CORPUS, *args, **given)


def same(one, two) -> bool:
    return (
        one.fingerprint_ == two.fingerprint_
        and all(a == b for a, b in zip(one.traces_, two.traces_, strict=True))
        and np.array_equal(one.chains_[0].state.z, two.chains_[0].state.z)
        and np.array_equal(one.doc_topic_, two.doc_topic_)
    )


@pytest.mark.parametrize("sampler", ["dense", "sparse", "words", "auto"])
def test_lda_has_the_bits_of_one_process(sampler: str) -> None:
    def make() -> LDA:
        return LDA(6, sampler=sampler, **KEPT)

    one = make().fit(CORPUS)
    for n_workers in (1, 2, 4):
        assert same(one, there(make, n_workers))
    standard = LDA(6, sampler=sampler, estimator="standard", **SHORT)
    assert same(standard.fit(CORPUS), there(lambda: LDA(6, sampler=sampler, estimator="standard", **SHORT), 3))


@pytest.mark.parametrize(
    ("make", "args", "given"),
    [
        (lambda: CompoundLDA(6, **KEPT), (), {"groups": GROUPS}),
        (lambda: CompoundLDA(6, method="mgs", **KEPT), (), {"groups": GROUPS}),
        (lambda: LabeledLDA(**KEPT), (LABELS,), {}),
        (lambda: DependencyLDA(**KEPT), (LABELS,), {}),
        (lambda: LDA(6, n_chains=2, **SHORT), (), {}),
        (lambda: LDA(6, seed_words={0: [CORPUS.vocabulary[0]]}, **SHORT), (), {}),
        (lambda: LDA(6, sampler_options={"start_sweeps": 2}, **SHORT), (), {}),
        (lambda: LDA(500, doc_topic_prior=0.01, topic_word_prior=0.1, **SHORT | {"max_iter": 3}), (), {}),
    ],
    ids=["compound", "compound mgs", "labeled", "dependency", "chains", "seeds", "merged start", "online start"],
)
def test_models_have_the_bits_of_one_process(make, args, given) -> None:
    assert same(make().fit(CORPUS, *args, **given), there(make, 3, *args, **given))


def test_chains_that_start_on_some_of_the_tokens_have_the_bits_of_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_start, "_LEAST", 100)
    plain = LDA(2, sampler_options={"start_sweeps": 0}, **SHORT).fit(CORPUS)
    one = LDA(2, **SHORT).fit(CORPUS)
    assert one.fingerprint_ != plain.fingerprint_
    assert same(one, there(lambda: LDA(2, **SHORT), 3))
    groups = CompoundLDA(2, **SHORT).fit(CORPUS, groups=GROUPS)
    assert same(groups, there(lambda: CompoundLDA(2, **SHORT), 2, groups=GROUPS))


def test_blocks_in_pieces_with_delayed_totals_have_the_bits_of_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "LEAST", 1)
    monkeypatch.setattr(shards, "PER_TOPIC", 0)

    def make(n_shards: int = 3) -> LDA:
        return LDA(6, sampler="dense", n_shards=n_shards, max_iter=27, trace_every=9, random_state=1)

    one = make().fit(CORPUS)
    assert one.chains_[0].shard_progress is not None  # what parts have not seen of each other goes on
    assert all(same(one, there(make, n)) for n in (1, 2, 3))
    assert same(make(1).fit(CORPUS), there(lambda: make(1), 2))


def test_the_documents_of_a_stored_corpus_stay_in_its_file(tmp_path) -> None:
    save_corpus(CORPUS, tmp_path / "c.corpus", mapped=True)
    corpus = load_corpus(tmp_path / "c.corpus")
    cluster = InProcess(2)
    sources = []
    cluster.before_call = lambda worker, method: sources.extend(
        one for own in cluster.workers for held in own.chains.values() for one in held.shards.values()
    )
    with places.using(Workers(cluster)):
        two = LDA(6, **SHORT).fit(corpus)
    assert same(LDA(6, **SHORT).fit(CORPUS), two)
    assert sources
    assert all(isinstance(held.corpus.words.base, np.ndarray) for held in sources)  # views of the map


# -- losses ----------------------------------------------------------------------------------------------------------


class Failing(InProcess):
    """Loses a worker at given calls."""

    def __init__(self, n_workers: int, at: set[int]) -> None:
        super().__init__(n_workers)
        self.at, self.calls = at, 0
        self.before_call = self.fail

    def fail(self, worker: int, method: str) -> None:
        self.calls += 1
        if self.calls in self.at:
            self.n_workers = max(1, self.n_workers - 1)  # a machine less
            raise WorkersLostError(f"worker {worker} in {method}")


@pytest.mark.parametrize("kept", [True, False], ids=["copies of topics", "from the start"])
def test_lost_workers_change_nothing(kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "_KEEP_EVERY", 0.0 if kept else 1e9)
    monkeypatch.setattr(chains, "_COSTS", 0.0)
    one = LDA(6, **KEPT).fit(CORPUS)
    whole = Failing(3, set())
    with places.using(Workers(whole)):
        LDA(6, **KEPT).fit(CORPUS)
    for seed in range(4):
        at = set(np.random.default_rng(seed).integers(2, whole.calls, 3).tolist())
        with places.using(Workers(Failing(3, at))), pytest.warns(WorkersLostWarning, match="worker . in"):
            assert same(one, LDA(6, **KEPT).fit(CORPUS))


def test_workers_that_are_lost_for_ever_end_the_fit() -> None:
    with (
        places.using(Workers(Failing(2, set(range(3, 10_000))))),
        pytest.warns(WorkersLostWarning),
        pytest.raises(InputError, match="workers were lost 20 times"),
    ):
        LDA(6, **SHORT).fit(CORPUS)


def test_a_run_goes_on_elsewhere(tmp_path) -> None:
    def stop(chain) -> bool:
        return chain.sweep == 7

    one = LDA(6, **KEPT).fit(CORPUS)
    for number, (first, then) in enumerate(((None, 3), (2, None), (4, 1))):
        folder = tmp_path / str(number)
        with places.using(None if first is None else Workers(InProcess(first))):
            LDA(6, checkpoint_dir=folder, **KEPT).fit(CORPUS, callbacks=[stop])
        with places.using(None if then is None else Workers(InProcess(then))):
            assert same(one, resume(folder, max_iter=13))


# -- what is refused -------------------------------------------------------------------------------------------------


def test_what_does_not_run_on_workers_is_refused() -> None:
    with places.using(Workers(InProcess(2))):
        for sampler, why in {"mh": "its word", "partial": "all topics", "warp": "each word"}.items():
            with pytest.raises(InputError, match=f"does not run on a cluster .the sampler '{sampler}' .* {why}"):
                LDA(4, sampler=sampler, max_iter=2).fit(CORPUS)
        with pytest.raises(InputError, match="MedLDAClassifier with these parameters does not run"):
            MedLDAClassifier(4, max_iter=4, burn_in=2).fit(CORPUS, GROUPS)
