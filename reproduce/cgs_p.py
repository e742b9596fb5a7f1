"""The unsupervised experiments of Papanikolaou, Foulds, Rubin and Tsoumakas, "Dense Distributions from Sparse Samples:
Improved Gibbs Sampling Parameter Estimators for LDA" (JMLR 2017), as markdown tables on standard output.

    python -m reproduce.cgs_p --data DIR

DIR holds one folder a corpus, as read by ``topicloom.read(..., format="folder")``, and for the section on word
association ``usf_norms/associations.tsv.gz``. Progress goes to standard error.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from reproduce import _adjacent, _association, _completion, _counts, _samplers
from reproduce._common import load, load_split, note, run_sections, train_to
from topicloom._types import FloatArray
from topicloom.engine.threads import run_parallel
from topicloom.errors import InputError

SECTIONS = ("completion", "topics", "counts", "denominator", "time", "association", "samplers", "mallet")


@dataclass(frozen=True)
class Settings:
    """The paper's settings; ``QUICK`` has small ones, to see that everything runs."""

    completion: _completion.Budget = field(default_factory=_completion.Budget)
    n_topics: int = 100
    more_topics: tuple[int, ...] = (20, 50, 500)  # of appendix D
    mallet_sweeps: int = 500
    count_sweeps: tuple[int, ...] = (50, 100, 200)
    denominator_sweeps: int = 100
    denominator_docs: tuple[int, ...] = (100, 300, 1000, 3000)
    time_topics: tuple[int, ...] = (100, 1000)
    time_sweeps: int = 20
    time_repeats: int = 5
    association_topics: tuple[int, ...] = (50, 100, 500, 1000)
    association_sweeps: int = 250
    samplers: _samplers.Budget = field(default_factory=_samplers.Budget)
    max_docs: int | None = None


QUICK = Settings(
    completion=_completion.Budget(n_topics=20, sweeps=20, burn_in=10, samples={1: (1, 2, 5), 2: (1, 2)}),
    n_topics=20, more_topics=(5,), mallet_sweeps=20, count_sweeps=(5, 10), denominator_sweeps=10,
    denominator_docs=(50, 100), time_topics=(20,), time_sweeps=3, time_repeats=2, association_topics=(10, 20),
    association_sweeps=10,
    samplers=_samplers.Budget(n_topics=20, sweeps=20, curve_topics=(10, 20), curve_sweeps=(5, 20)), max_docs=300,
)  # fmt: skip


@dataclass(frozen=True)
class Options:
    data: Path
    corpora: Sequence[str]
    denominator_corpus: str
    association_corpora: Sequence[str]
    sampler_corpora: Sequence[str]
    topic_corpora: Sequence[str]
    mallet_state: Path | None
    runs: int
    jobs: int
    settings: Settings


def completion(options: Options) -> str:
    return _completed(options, options.settings.completion, options.corpora)


def topics(options: Options) -> str:
    budgets = [replace(options.settings.completion, n_topics=k) for k in options.settings.more_topics]
    return "\n\n".join(_completed(options, budget, options.topic_corpora) for budget in budgets)


def _completed(options: Options, budget: _completion.Budget, names: Sequence[str]) -> str:
    splits = {name: load_split(options.data, name, options.settings.max_docs) for name in names}
    tasks = [(name, run) for name in names for run in range(options.runs)]
    curves = run_parallel(
        lambda task: _completion.run(*splits[task[0]][:2], budget, seed=task[1], name=task[0]), tasks, options.jobs
    )
    parts = [
        f"K = {budget.n_topics}, α = 0.1, β = 0.01, {budget.sweeps} training sweeps; prediction: burn-in "
        f"{budget.burn_in}, thin {budget.thin}, θ and θᵖ from the same samples. θ from a random half of each test "
        "document (the odd token in it), perplexity of the other half."
    ]
    for name in names:
        train, test, how = splits[name]
        own = [curve for (of, _), curve in zip(tasks, curves, strict=True) if of == name]
        parts.append(_completion.report(name, how, train, test, own))
    return "\n\n".join(parts)


def counts(options: Options) -> str:
    settings = options.settings
    corpora = {name: load(options.data, name, settings.max_docs) for name in options.corpora}
    return _counts.count_report(corpora, settings.n_topics, settings.count_sweeps, seed=0)


def denominator(options: Options) -> str:
    settings = options.settings
    name = options.denominator_corpus
    corpus = load(options.data, name, settings.max_docs)
    chain = train_to(corpus, settings.n_topics, settings.denominator_sweeps, seed=0)
    note(f"denominator: {name} trained")
    sizes = [*(n for n in settings.denominator_docs if n < corpus.n_docs), corpus.n_docs]
    return (
        f"{name}, K = {settings.n_topics}, after {settings.denominator_sweeps} sweeps; Σ_v |a − b| averaged over "
        "topics, for three readings of the expectation over adjacent states; the bound is the mean of "
        "1/(n_k + Σβ − 1).\n\n" + _adjacent.report(corpus, chain.state.z, chain.prior, sizes)
    )


def times(options: Options) -> str:
    settings = options.settings
    corpora = {name: load(options.data, name, settings.max_docs) for name in options.corpora}
    return (
        f"Median of {settings.time_repeats}, in turn, from the state after {settings.time_sweeps} sweeps.\n\n"
        + _counts.timing_report(corpora, settings.time_topics, settings.time_sweeps, settings.time_repeats)
    )


def association(options: Options) -> str:
    settings = options.settings
    norms = _association.load_norms(options.data / "usf_norms" / "associations.tsv.gz")
    corpora = {
        name: _association.usual_words(load(options.data, name, settings.max_docs))
        for name in options.association_corpora
    }
    pairs = {name: _association.pair_up(norms, corpus) for name, corpus in corpora.items()}
    tasks = [(k, name) for k in sorted(settings.association_topics) for name in corpora]  # the longest last

    def run(task: tuple[int, str]) -> FloatArray:
        k, name = task
        return _association.rank_gains(corpora[name], pairs[name], k, settings.association_sweeps, seed=0, name=name)

    gains = dict(zip(tasks, run_parallel(run, tasks, options.jobs), strict=True))
    parts = [
        f"{settings.association_sweeps} sweeps, one point estimate a K. For each cue the five most common associates "
        f"that are in the vocabulary; word types with {_association.LEAST} to {_association.MOST:,} occurrences."
    ]
    for name, corpus in corpora.items():
        own = {k: gain for (k, of), gain in gains.items() if of == name}
        parts.append(_association.report(name, corpus, pairs[name], own))
    return "\n\n".join(parts)


def samplers(options: Options) -> str:
    corpora = {name: load(options.data, name, options.settings.max_docs) for name in options.sampler_corpora}
    return _samplers.report(corpora, options.settings.samplers, options.runs, options.jobs)


def of_mallet(options: Options) -> str:
    if options.mallet_state is None:
        return "No state of MALLET was given."
    return _samplers.of_mallet(options.mallet_state, options.settings.mallet_sweeps, options.runs)


PARTS: dict[str, tuple[str, Callable[[Options], str]]] = {
    "completion": ("Completion (section 5.3, figures 1 and 2)", completion),
    "topics": ("Completion with other numbers of topics (appendix D, figures 10 to 13)", topics),
    "counts": ("Hard and soft counts (appendix A, figures 7 and 8)", counts),
    "denominator": ("The denominator's approximation (appendix C, figure 9)", denominator),
    "time": ("Time of the estimate (section 5.8)", times),
    "association": ("Word association (section 5.4, figure 3)", association),
    "samplers": ("On samplers for large corpora (section 5.7, table 4 and figure 6)", samplers),
    "mallet": ("On a state of MALLET (section 5.7, table 4)", of_mallet),
}


def parse(arguments: Sequence[str]) -> tuple[Options, list[str]]:
    parser = argparse.ArgumentParser(prog="python -m reproduce.cgs_p", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the corpora's folders")
    parser.add_argument("--corpora", nargs="+", default=["kos", "reuters21578", "nips"])
    parser.add_argument("--denominator-corpus", default="nyt")
    parser.add_argument("--association-corpora", nargs="+", default=["news20", "nyt"])
    parser.add_argument("--sampler-corpora", nargs="+", default=["kos", "reuters21578", "nyt"])
    parser.add_argument("--topic-corpora", nargs="+", default=["kos", "reuters21578"], help="corpora of appendix D")
    parser.add_argument("--more-topics", type=int, nargs="+", help="numbers of topics of appendix D: 20 50 500")
    parser.add_argument("--mallet-state", type=Path, help="a state file that MALLET wrote, for the section mallet")
    parser.add_argument("--sections", nargs="+", default=list(SECTIONS), choices=SECTIONS)
    parser.add_argument("--runs", type=int, default=5, help="runs that completion and table 4 are averaged over")
    parser.add_argument("--jobs", type=int, default=1, help="chains at a time")
    parser.add_argument("--quick", action="store_true", help="small settings, to see that everything runs")
    given = parser.parse_args(arguments)
    if given.runs < 1 or given.jobs < 1:
        parser.error("--runs and --jobs must be at least 1")
    settings = QUICK if given.quick else Settings()
    if given.more_topics:
        settings = replace(settings, more_topics=tuple(given.more_topics))
    options = Options(
        given.data, given.corpora, given.denominator_corpus, given.association_corpora, given.sampler_corpora,
        given.topic_corpora, given.mallet_state, given.runs, given.jobs, settings,
    )  # fmt: skip
    sections = [name for name in SECTIONS if name in given.sections]
    needed = {
        *(options.corpora if {"completion", "counts", "time"} & set(sections) else ()),
        *(options.topic_corpora if "topics" in sections else ()),
        *((options.denominator_corpus,) if "denominator" in sections else ()),
        *((*options.association_corpora, "usf_norms") if "association" in sections else ()),
        *(options.sampler_corpora if "samplers" in sections else ()),
    }
    missing = sorted(name for name in needed if not (options.data / name).is_dir())
    if missing:
        parser.error(f"{options.data} has no folder {', '.join(missing)}")
    return options, sections


def main(arguments: Sequence[str]) -> None:
    run_sections("reproduce.cgs_p", arguments, *parse(arguments), PARTS)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"error: {error}")
