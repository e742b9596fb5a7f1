"""What reproductions share: corpora from folders, chains that stop along the way, tables, progress."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

import topicloom
from topicloom._types import FloatArray
from topicloom.corpus import Corpus, split_documents
from topicloom.engine.estimates import Estimator, phi, topic_counts
from topicloom.engine.prior import make_prior
from topicloom.engine.run import Chain, Plan, run_chains, start_chain
from topicloom.errors import InputError
from topicloom.lda.gibbs import get_sampler

T = TypeVar("T")

SPLIT_SEED = 0
TEST_SHARE = 0.2
_STARTED = time.perf_counter()


# -- corpora ---------------------------------------------------------------------------------------------------


def load(data: Path, name: str, max_docs: int | None = None) -> Corpus:
    """The corpus in the folder ``data/name``, or its first documents."""
    corpus = topicloom.read(data / name, format="folder")
    return corpus if max_docs is None else corpus.select(np.arange(min(max_docs, corpus.n_docs)))


def load_split(data: Path, name: str, max_docs: int | None = None) -> tuple[Corpus, Corpus, str]:
    """Training documents, test documents, and how they were told apart.

    The published split if the folder has a ``split.txt``, otherwise a fifth of the documents drawn at random.
    """
    corpus = load(data, name)
    path = data / name / "split.txt"
    if path.is_file():
        parts = np.array(path.read_text().split())
        if len(parts) != corpus.n_docs or not np.isin(parts, ("train", "test")).all():
            raise InputError(f"{path} must say train or test for each of {corpus.n_docs} documents.")
        train, test, how = corpus.select(parts == "train"), corpus.select(parts == "test"), "published split"
    else:
        train, test = split_documents(corpus, TEST_SHARE, SPLIT_SEED)
        how = f"random split, {TEST_SHARE:.0%} of the documents for testing, seed {SPLIT_SEED}"
    if max_docs is not None:
        train, test = (part.select(np.arange(min(max_docs, part.n_docs))) for part in (train, test))
    return train, test, how


# -- chains ----------------------------------------------------------------------------------------------------


def train(
    corpus: Corpus, n_topics: int, sweeps: Sequence[int], seed: int, *, alpha: float = 0.1, beta: float = 0.01,
    sampler: str = "dense",
) -> Iterator[Chain]:  # fmt: skip
    """One chain with fixed symmetric priors, as it stands after each of the given sweeps (ascending)."""
    kernel = get_sampler(sampler)
    prior = make_prior(np.full(n_topics, alpha), np.full(corpus.n_words, beta), corpus.n_docs)
    chain = start_chain(kernel, corpus, prior, seed, 0)
    for stop in sweeps:
        plan = Plan(seed=seed, max_iter=stop, burn_in=None, thin=1, estimator="standard", trace_every=stop + 1)
        if run_chains(kernel, corpus, [chain], plan):
            raise KeyboardInterrupt
        yield chain


def train_to(corpus: Corpus, n_topics: int, sweeps: int, seed: int) -> Chain:
    return next(train(corpus, n_topics, [sweeps], seed))


def word_topic_prob(corpus: Corpus, chain: Chain, estimator: Estimator) -> FloatArray:
    """φ by word [V, K] from the chain's last state: ``standard`` is φ, ``cgs_p`` is φᵖ."""
    counts = topic_counts(corpus, chain.state, chain.prior, estimator, docs=False)
    assert counts.word is not None
    return phi(counts.word, 1, chain.prior)


# -- output ----------------------------------------------------------------------------------------------------


def note(text: str) -> None:
    """Progress, to stderr."""
    print(f"[{time.perf_counter() - _STARTED:6.0f} s] {text}", file=sys.stderr, flush=True)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A markdown table, first column left, all others right."""
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join(["---", *["---:"] * (len(header) - 1)]) + "|"]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Mean ± standard deviation."""
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.{digits}f} ± {sd:.{digits}f}"


def command_line(module: str, arguments: Sequence[str]) -> str:
    """The command as it was given, with DATA for the folder's name, which means nothing on another machine."""
    shown = list(arguments)
    if "--mallet-state" in shown[:-1]:
        shown[shown.index("--mallet-state") + 1] = "STATE"
    for i, argument in enumerate(shown):
        if argument == "--data" and i + 1 < len(shown):
            shown[i + 1] = "DATA"
        elif argument.startswith("--data="):
            shown[i] = "--data=DATA"
    return " ".join(["python -m", module, *shown])


def describe_run(module: str, arguments: Sequence[str]) -> str:
    """Command, version and machine, to head the output."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    python = ".".join(map(str, sys.version_info[:3]))
    return (
        f"`{command_line(module, arguments)}`\n\n"
        f"topicloom {topicloom.__version__}, Python {python}, NumPy {np.__version__}, {cores} cores."
    )


def run_sections(
    module: str, arguments: Sequence[str], options: T, wanted: Sequence[str],
    parts: Mapping[str, tuple[str, Callable[[T], str]]],
) -> None:  # fmt: skip
    """Print the run's description, then each wanted section under its title."""
    print(describe_run(module, arguments), flush=True)
    for name in wanted:
        title, section = parts[name]
        note(f"{name}: started")
        print(f"\n### {title}\n", flush=True)
        print(section(options), flush=True)
