"""CGS_p appendix A, figures 7 and 8 (hard against soft counts), and what the soft counts cost (section 5.8)."""

import time
from collections.abc import Callable, Sequence

import numpy as np

from reproduce._common import note, table, train, train_to
from topicloom._types import FloatArray
from topicloom.corpus import Corpus
from topicloom.engine.estimates import Estimator, topic_counts
from topicloom.engine.run import Chain
from topicloom.engine.sampler import Key, Schedule
from topicloom.lda.gibbs import get_sampler

SHOWN = 5  # topics of the first document


def document_counts(corpus: Corpus, chain: Chain, estimator: Estimator) -> FloatArray:
    counts = topic_counts(corpus, chain.state, chain.prior, estimator, words=False)
    assert counts.doc is not None
    return counts.doc


def count_rows(corpus: Corpus, n_topics: int, sweeps: Sequence[int], seed: int) -> tuple[list[float], list[list[str]]]:
    """Eq. 60 after each of the sweeps, and rows on the first document for the table that stands for figure 8."""
    differences, rows = [], []
    for chain in train(corpus, n_topics, sweeps, seed):
        hard, soft = (document_counts(corpus, chain, estimator) for estimator in ("standard", "cgs_p"))
        differences.append(float(np.abs(hard - soft).sum() / corpus.n_docs))  # eq. 60
        gap = np.abs(hard[0] - soft[0])
        largest = np.argsort(-gap, kind="stable")[:SHOWN]
        pairs = ", ".join(f"{hard[0, k]:.0f}/{soft[0, k]:.1f}" for k in largest)
        touched = f"{np.count_nonzero(hard[0])}/{np.count_nonzero(soft[0] > 0.1)}"
        rows.append([str(chain.sweep), str(corpus.doc_lengths[0]), f"{gap.sum():.2f}", touched, pairs])
    return differences, rows


def count_report(corpora: dict[str, Corpus], n_topics: int, sweeps: Sequence[int], seed: int) -> str:
    by_sweep, first = [], []
    for name, corpus in corpora.items():
        differences, rows = count_rows(corpus, n_topics, sweeps, seed)
        note(f"counts: {name} done")
        length = corpus.n_tokens / corpus.n_docs
        shares = (f"{d / length:.1%}" for d in differences)
        by_sweep.append([name, f"{length:.1f}", *(f"{d:.2f}" for d in differences), *shares])
        first += [[name, *row] for row in rows]
    head = ["corpus", "mean N_d", *(f"sweep {s}" for s in sweeps), *(f"of N_d, sweep {s}" for s in sweeps)]
    return "\n\n".join(
        [
            "Eq. 60, the sum of |hard − soft| over topics, averaged over documents:",
            table(head, by_sweep),
            f"First document: the same sum, topics with a hard count and with a soft count above 0.1, and the {SHOWN} "
            "topics that differ most (hard/soft):",
            table(
                ["corpus", "sweep", "N_d", "sum of differences", "topics hard/soft", "largest differences"],
                first,
            ),
        ]
    )


def timing_row(corpus: Corpus, n_topics: int, warm_up: int, repeats: int, jobs: int, seed: int = 0) -> list[str]:
    """Seconds of a dense sweep and of θᵖ with φᵖ on one thread and on ``jobs``, taken in turn; medians."""
    kernel = get_sampler("dense")
    chain = train_to(corpus, n_topics, warm_up, seed)

    def sweep() -> None:
        key = Key(seed, 0, chain.sweep + 1)
        chain.state, _ = kernel.sweep(corpus, chain.state, chain.prior, key, Schedule())
        chain.sweep += 1

    def estimate(n_jobs: int) -> None:
        topic_counts(corpus, chain.state, chain.prior, "cgs_p", n_jobs=n_jobs)

    def standard() -> None:
        topic_counts(corpus, chain.state, chain.prior, "standard")

    work: list[Callable[[], None]] = [sweep, lambda: estimate(1), lambda: estimate(jobs), standard]
    seconds = np.array([[_timed(do) for do in work] for _ in range(repeats + 1)])[1:]
    swept, one, many, hard = np.median(seconds, axis=0)
    return [str(n_topics), f"{swept:.3f}", f"{one:.3f}", f"{many:.3f}", f"{hard:.3f}", f"{one / swept:.2f}"]


def _timed(do: Callable[[], None]) -> float:
    started = time.perf_counter()
    do()
    return time.perf_counter() - started


def timing_report(corpora: dict[str, Corpus], topics: Sequence[int], warm_up: int, repeats: int, jobs: int = 2) -> str:
    rows = []
    for name, corpus in corpora.items():
        for n_topics in topics:
            rows.append([name, *timing_row(corpus, n_topics, warm_up, repeats, jobs)])
            note(f"time: {name}, K = {n_topics} done")
    head = ["corpus", "K", "dense sweep, s", "θᵖ and φᵖ, s", f"the same, {jobs} threads", "θ and φ, s"]
    return table([*head, "estimate / sweep"], rows)
