"""George, Xia and Michailidis, "Analyses of multi-collection corpora via compound topic modeling" (2019).

    python -m reproduce.compound_lda --data DIR
        [--sections synthetic gibbs-em figure5 topics hdp times baselines
                   clusters truth figure14 figure20]
        [--corpora news16 yelp nips_years] [--sweeps N] [--runs N] [--figures FOLDER] [--quick]

synthetic: section 3.2 and table 1, over 20 corpora. gibbs-em: figure 4. figure5: perplexity against the number of
topics, for LDA and for compound LDA with one and with all collections. topics: the hyperparameters of section 4.2.3,
figure 6, and the collections' topics as in figures 10 and 11 (pictures with --figures), from one model a corpus.
hdp: a hierarchical Dirichlet process beside the others, as in figures 7 and 8. times: table 3. baselines: M1, M2 and M3
of figures 10 and 11, table 2, and LDA's own hyperparameters. clusters: figures 7, 8 and 15 to 17 without HDP. truth:
M1, M2 and M3 where π is known. figure14: autocorrelation. figure20: perplexity against α. DIR holds one folder a
corpus; synthetic, gibbs-em, truth and figure14 need none.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import compound as benchmark
from reproduce import _compound_baselines as baselines
from reproduce import _compound_corpora as corpora
from reproduce import _compound_hdp
from reproduce import _compound_synthetic as made
from reproduce._common import run_sections
from topicloom.errors import InputError

SECTIONS = (
    "synthetic", "gibbs-em", "figure5", "topics", "hdp", "times", "baselines", "clusters", "truth", "figure14",
    "figure20",
)  # fmt: skip


@dataclass(frozen=True)
class Options:
    data: Path
    corpora: Sequence[str]
    sweeps: int | None
    runs: int | None
    figures: Path | None
    quick: bool

    @property
    def max_docs(self) -> int | None:
        return 150 if self.quick else None

    def number(self, given: int | None, usual: int, quick: int) -> int:
        return given if given is not None else quick if self.quick else usual


def synthetic(options: Options) -> str:
    n, sweeps = options.number(options.runs, 20, 2), options.number(options.sweeps, 2000, 40)
    return made.study(n, sweeps, 20 if options.quick else 200)


def gibbs_em(options: Options) -> str:
    return made.gibbs_em(options.number(options.runs, 20, 2), options.number(options.sweeps, 600, 40))


def figure5(options: Options) -> str:
    sweeps, runs = options.number(options.sweeps, 300, 10), options.number(options.runs, 2, 1)
    return corpora.figure5(options.data, options.corpora, sweeps, runs, options.max_docs, options.quick)


def topics(options: Options) -> str:
    sweeps = options.number(options.sweeps, 400, 30)
    fitted = corpora.fit_all(options.data, options.corpora, sweeps, options.max_docs, options.quick)
    if options.figures is not None:
        options.figures.mkdir(parents=True, exist_ok=True)
        for f in fitted:
            corpora.figure(f, options.figures)
    parts = [
        "Hyperparameters by Gibbs-EM (section 4.2.3). " + corpora.hyperparameters(fitted),
        "Topic sizes and coherence (figure 6):\n\n" + corpora.figure6(fitted),
        *(corpora.collections(f) for f in fitted),
    ]
    return "\n\n".join(parts)


def hdp(options: Options) -> str:
    sweeps = options.number(options.sweeps, 400, 5)
    return _compound_hdp.sizes(options.data, options.corpora, sweeps, options.max_docs, options.quick)


def times(options: Options) -> str:
    sweeps = options.number(options.sweeps, 15, 2)
    return "\n\n".join(
        benchmark.report(options.data, name, 5 if options.quick else None, sweeps, "cpu", options.max_docs)
        for name in options.corpora
    )


def beside_lda(options: Options) -> str:
    sweeps = options.number(options.sweeps, 300, 20)
    return baselines.section(options.data, options.corpora, sweeps, options.max_docs, options.quick)


def clusters(options: Options) -> str:
    sweeps = options.number(options.sweeps, 300, 20)
    return baselines.clusters(options.data, options.corpora[-1], sweeps, options.max_docs, options.quick)


def truth(options: Options) -> str:
    n, sweeps = options.number(options.runs, 10, 2), options.number(options.sweeps, 300, 20)
    return baselines.known_truth(n, sweeps, options.quick)


def figure14(options: Options) -> str:
    return baselines.autocorrelation(options.number(options.sweeps, 2000, 120), options.quick)


def figure20(options: Options) -> str:
    sweeps = options.number(options.sweeps, 150, 20)
    return baselines.alphas(options.data, options.corpora[-1], sweeps, options.max_docs, options.quick)


PARTS: dict[str, tuple[str, Callable[[Options], str]]] = {
    "synthetic": ("Recovering π: section 3.2, table 1", synthetic),
    "gibbs-em": ("Recovering γ and η: figure 4", gibbs_em),
    "figure5": ("Perplexity: figure 5", figure5),
    "topics": ("Hyperparameters, topics, collections: section 4.2.3, figures 6, 10, 11", topics),
    "hdp": ("Beside a hierarchical Dirichlet process: figures 7 and 8", hdp),
    "times": ("Time of a sweep: table 3", times),
    "baselines": ("Compound LDA beside LDA: section 4.2.3, figures 10 and 11, table 2", beside_lda),
    "clusters": ("Topic sizes and clusters: figures 7, 8, 15, 16, 17", clusters),
    "truth": ("Mixtures by M1, M2 and M3 where they are known", truth),
    "figure14": ("Autocorrelation of π: figure 14", figure14),
    "figure20": ("Perplexity against α: figure 20", figure20),
}


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduce.compound_lda", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, default=Path("."), help="folder that holds the corpora's folders")
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--corpora", nargs="+", choices=list(corpora.CASES), default=list(corpora.CASES))
    parser.add_argument("--sweeps", type=int, help="in place of each section's own number")
    parser.add_argument("--runs", type=int, help="corpora, or chains at the paper's K")
    parser.add_argument("--figures", type=Path, help="folder for pictures of the collections' topics (matplotlib)")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything runs")
    given = parser.parse_args(arguments)
    for name in ("sweeps", "runs"):
        if getattr(given, name) is not None and getattr(given, name) < 1:
            raise InputError(f"--{name} must be at least 1.")
    options = Options(given.data, given.corpora, given.sweeps, given.runs, given.figures, given.quick)
    run_sections("reproduce.compound_lda", arguments, options, given.sections, PARTS)


if __name__ == "__main__":
    main(sys.argv[1:])
