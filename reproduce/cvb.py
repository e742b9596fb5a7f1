"""Teh, Newman and Welling, "A collapsed variational Bayesian inference algorithm for LDA" (2006): section 4.

    python -m reproduce.cvb --data DIR [--sections figure1 starts figure2 exact topics] [--runs 10]
        [--starts 50] [--documents 100] [--iterations 10] [--figures FOLDER] [--quick]

figure1: kos with 8 topics and nips with 40, α = β = 0.1, a tenth of each document's tokens held out: bounds and test
probabilities against iterations. starts: VB and CVB alone on kos, from more starts. figure2:
both against the number of documents of kos. exact: CVB without
the Gaussian approximation beside CVB with it, on 100 documents of kos. topics: section 5.5 and figure 5
of the CGS_p paper, perplexity and training likelihood of CGS, CGS_p, CVB0 and VB against the number of topics, on
reuters21578. DIR holds one folder a corpus.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from reproduce import _cvb_topics
from reproduce._common import load, note, run_sections, spread, table
from reproduce._variational import METHODS, VARIATIONAL, Curve, compare_exact, run, symmetric
from topicloom.corpus import Corpus, hold_out_tokens
from topicloom.errors import InputError

ALPHA = BETA = 0.1
TOPICS = {"kos": 8, "nips": 40}
SECTIONS = ("figure1", "starts", "figure2", "exact", "topics")


@dataclass(frozen=True)
class Settings:
    iterations: Sequence[int] = (1, 2, 5, 10, 20, 30, 50, 75, 100, 150, 200)
    sweeps: Sequence[int] = (1, 2, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 500)
    doc_numbers: Sequence[int] = (100, 300, 1000, 2000, 3430)
    starts_grid: Sequence[int] = (10, 20, 30, 50, 75, 100)
    exact: Sequence[int] = (1, 2, 5, 10, 20, 30, 50, 75, 100)  # as far as --iterations says
    max_docs: int | None = None
    topics: _cvb_topics.Budget = _cvb_topics.Budget()  # noqa: RUF009 (it cannot change)


QUICK = Settings((1, 3), (1, 10), (30, 60), (1, 3), (1, 2), 60, _cvb_topics.Budget((4,), (2, 4), 4, 5, 60))


@dataclass(frozen=True)
class Options:
    data: Path
    corpora: Sequence[str]
    runs: int
    figures: Path | None
    starts: int
    documents: int
    exact_iterations: int
    settings: Settings
    topic_corpora: Sequence[str] = ("reuters21578",)


Curves = dict[str, list[Curve]]  # {method: one a run}


def grid_of(method: str, settings: Settings) -> Sequence[int]:
    return settings.sweeps if method == "Gibbs" else settings.iterations


def run_all(corpus: Corpus, n_topics: int, runs: int, settings: Settings, name: str) -> Curves:
    train, test = hold_out_tokens(corpus, 0.1, seed=0)
    prior = symmetric(train, n_topics, ALPHA, BETA)
    curves: Curves = {method: [] for method in METHODS}
    for seed in range(runs):
        for method in METHODS:
            curves[method].append(run(method, train, test, prior, seed, grid_of(method, settings)))
            note(f"{name}: {method}, run {seed}: {curves[method][-1].test[-1]:.4f}")
    return curves


# -- figure 1 ------------------------------------------------------------------------------------------------------


def figure1(options: Options) -> str:
    parts = []
    found = {}
    for name in options.corpora:
        corpus = load(options.data, name, options.settings.max_docs)
        curves = run_all(corpus, TOPICS.get(name, 8), options.runs, options.settings, f"figure1, {name}")
        found[name] = curves
        parts.append(report(name, corpus, TOPICS.get(name, 8), curves))
    if options.figures is not None:
        draw_figure1(found, options.figures / "cvb_figure1.png")
    return "\n\n".join(parts)


def report(name: str, corpus: Corpus, n_topics: int, curves: Curves) -> str:
    """Tables of one corpus, and whether the paper's claims hold on it."""
    runs = len(curves["CVB"])
    head = (
        f"**{name}**: {corpus.n_docs:,} documents, {corpus.n_tokens:,} tokens, K = {n_topics}, {runs} initialisations."
    )
    bounds = table(
        ["bound per token", *(str(i) for i in curves["CVB"][0].iterations)],
        [[m, *_means(curves[m], "bound")] for m in VARIATIONAL]
        + [[f"{m}, second order", *_means(curves[m], "second_order")] for m in ("CVB", "CVB0")],
    )
    tests = table(
        ["test log probability per token", *(str(i) for i in curves["Gibbs"][0].iterations)],
        [[m, *_means(curves[m], "test", len(curves["Gibbs"][0].iterations))] for m in METHODS],
    )
    ends = table(
        ["at the end", "bound", "test", "iterations to within 0.01 of the end"],
        [[m, spread(_last(curves[m], "bound"), 4), spread(_last(curves[m], "test"), 4), settled(curves[m])]
         for m in METHODS],
    )  # fmt: skip
    return "\n\n".join(
        [
            head,
            bounds,
            tests,
            ends.replace("nan ± nan", "–").replace("nan ± 0.0000", "–"),
            "\n".join(f"- {line}" for line in verdicts(curves)),
        ]
    )


def _means(curves: Sequence[Curve], what: str, width: int | None = None) -> list[str]:
    means = np.mean([getattr(curve, what) for curve in curves], axis=0)
    cells = [f"{x:.4f}" for x in means]
    return cells + [""] * ((width or len(cells)) - len(cells))


def _last(curves: Sequence[Curve], what: str) -> list[float]:
    return [getattr(curve, what)[-1] for curve in curves]


def settled(curves: Sequence[Curve]) -> int:
    """The first recorded iteration after which the mean test probability stays within 0.01 of where it ends."""
    mean = np.mean([curve.test for curve in curves], axis=0)
    far = np.flatnonzero(np.abs(mean - mean[-1]) > 0.01)
    return curves[0].iterations[0 if len(far) == 0 else min(int(far[-1]) + 1, len(mean) - 1)]


def passes(curves: Sequence[Curve], goal: float, what: str) -> str:
    """The first recorded iteration at which the mean is above the goal."""
    above = np.flatnonzero(np.mean([getattr(curve, what) for curve in curves], axis=0) > goal)
    return str(curves[0].iterations[above[0]]) if len(above) else "no number of"


def verdicts(curves: Curves) -> list[str]:
    """The paper's claims, with the numbers."""
    end = {(m, what): float(np.mean(_last(curves[m], what))) for m in METHODS for what in ("bound", "test")}
    lines = []
    for vb in ("VB", "VB, one round"):
        for what, name in (("bound", "bound"), ("test", "test log probability")):
            gap = end["CVB", what] - end[vb, what]
            held = "holds" if gap > 0 else "DOES NOT HOLD"
            pairs = list(zip(_last(curves["CVB"], what), _last(curves[vb], what), strict=True))
            above = sum(ours > theirs for ours, theirs in pairs)
            lines.append(
                f"CVB above {vb} in {name}: {held} on average ({gap:+.4f} per token), from the same seed in {above} of "
                f"{len(pairs)} runs."
            )
    best = max(METHODS, key=lambda m: end[m, "test"])
    held = "holds" if best == "Gibbs" else f"DOES NOT HOLD, {best} is"
    lines.append(f"Gibbs best at the end in test log probability: {held} ({end['Gibbs', 'test']:.4f}, CVB "
                 f"{end['CVB', 'test']:.4f}, CVB0 {end['CVB0', 'test']:.4f}).")  # fmt: skip
    times = {m: settled(curves[m]) for m in METHODS}
    for vb in ("VB", "VB, one round"):
        held = "holds" if times["CVB"] < times[vb] else "DOES NOT HOLD"
        lines.append(f"CVB converges faster than {vb}: {held} (CVB {times['CVB']}, {vb} {times[vb]} iterations).")
    for what in ("bound", "test"):
        lines.append(
            f"CVB passes where VB ends, {what}, after {passes(curves['CVB'], end['VB', what], what)} iterations, where "
            f"VB one round ends after {passes(curves['CVB'], end['VB, one round', what], what)}."
        )
    held = "holds" if all(times["Gibbs"] >= t for t in times.values()) else "DOES NOT HOLD"
    lines.append(f"Gibbs last to converge: {held} ({', '.join(f'{m} {t}' for m, t in times.items())} iterations).")
    return lines


def draw_figure1(found: dict[str, Curves], path: Path) -> None:
    """As the paper's figure 1: curves and histograms of bounds and test probabilities, a column a corpus."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(4, len(found), figsize=(5 * len(found), 13), squeeze=False)
    for column, (name, curves) in enumerate(found.items()):
        for row, what, methods in ((0, "bound", VARIATIONAL), (2, "test", METHODS)):
            for color, method in enumerate(METHODS):
                if method not in methods:
                    continue
                for run_number, curve in enumerate(curves[method]):
                    label = method if run_number == 0 else None
                    axes[row, column].plot(
                        curve.iterations, getattr(curve, what), color=f"C{color}", lw=0.7, label=label
                    )
                axes[row + 1, column].hist(_last(curves[method], what), bins=8, color=f"C{color}", alpha=0.6)
            axes[row, column].set(xscale="log", xlabel="iterations", title=f"{name}: {what} per token")
            axes[row, column].legend(fontsize=7)
            axes[row + 1, column].set(xlabel=f"{what} per token at the end", ylabel="runs")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=70)


# -- more starts ---------------------------------------------------------------------------------------------------


def starts(options: Options) -> str:
    """VB and CVB from many starts: where they end, and how far in between."""
    settings = options.settings
    corpus = load(options.data, "kos", settings.max_docs)
    train, test = hold_out_tokens(corpus, 0.1, seed=0)
    prior, grid = symmetric(train, TOPICS["kos"], ALPHA, BETA), settings.starts_grid
    curves: Curves = {"VB": [], "CVB": []}
    for seed in range(options.starts):
        for method, own in curves.items():
            own.append(run(method, train, test, prior, seed, grid))
        note(
            f"starts: {seed}: "
            + ", ".join(f"{m} {c[-1].bound[-1]:.4f} {c[-1].test[-1]:.4f}" for m, c in curves.items())
        )
    rows, lines = [], []
    for what in ("bound", "test"):
        for method in curves:
            ends = _last(curves[method], what)
            mean = [f"{x:.4f}" for x in np.mean([getattr(curve, what) for curve in curves[method]], axis=0)]
            rows.append([f"{what}, {method}", *mean, spread(ends, 4), f"{min(ends):.4f} to {max(ends):.4f}"])
        gaps = np.subtract(_last(curves["CVB"], what), _last(curves["VB"], what))
        error = gaps.std(ddof=1) / np.sqrt(len(gaps))
        passed = passes(curves["CVB"], float(np.mean(_last(curves["VB"], what))), what)
        lines.append(
            f"- CVB less VB in {what}: {gaps.mean():.4f}, standard error {error:.4f}, above 0 for "
            f"{int(np.sum(gaps > 0))} of {len(gaps)} starts; CVB passes where VB ends after {passed} iterations."
        )
    header = ["per token, after iterations", *map(str, grid), "at the end", "range"]
    return f"kos, K = {TOPICS['kos']}, {options.starts} starts.\n\n{table(header, rows)}\n\n" + "\n".join(lines)


# -- figure 2 ------------------------------------------------------------------------------------------------------


def figure2(options: Options) -> str:
    settings = options.settings
    corpus = load(options.data, "kos", settings.max_docs)
    order = np.random.default_rng(0).permutation(corpus.n_docs)
    short = replace(settings, iterations=settings.iterations[-1:], sweeps=settings.sweeps[-1:])
    runs = min(options.runs, 3)
    rows = []
    for n_docs in settings.doc_numbers:
        part = corpus.select(np.sort(order[: min(n_docs, corpus.n_docs)]))
        curves = run_all(part, TOPICS["kos"], runs, short, f"figure2, {n_docs}")
        ends = {m: (np.mean(_last(curves[m], "test")), np.mean(_last(curves[m], "bound"))) for m in METHODS}
        rows.append([part.n_docs, *(f"{ends[m][0]:.3f}" for m in METHODS), *(f"{ends[m][1]:.3f}" for m in VARIATIONAL)])
    header = ["documents", *(f"test, {m}" for m in METHODS), *(f"bound, {m}" for m in VARIATIONAL)]
    return f"kos, K = 8, means of {runs} runs, growing parts of the corpus.\n\n{table(header, rows)}"


# -- exact ---------------------------------------------------------------------------------------------------------


def exact(options: Options) -> str:
    """CVB with and without the Gaussian approximation, from one start: both judged by the exact bound."""
    settings = options.settings
    corpus = load(options.data, "kos", settings.max_docs)
    chosen = np.random.default_rng(0).permutation(corpus.n_docs)[: options.documents]
    corpus = corpus.select(np.sort(chosen))
    train, test = hold_out_tokens(corpus, 0.1, seed=0)
    prior = symmetric(train, TOPICS["kos"], ALPHA, BETA)
    grid = [i for i in settings.exact if i <= options.exact_iterations]
    found = compare_exact(train, test, prior, grid)
    others = [run("CVB", train, test, prior, seed, grid) for seed in range(1, 11)]
    header = [
        "iteration", "bound, exact", "bound, Gaussian", "test, exact", "test, Gaussian", "tokens assigned otherwise",
        "seconds, exact", "seconds, Gaussian",
    ]  # fmt: skip
    rows = [
        [i, *(f"{x:.4f}" for x in values[:4]), f"{values[4]:.2%}", *(f"{x:.3g}" for x in values[5:])]
        for i, values in found
    ]
    return (
        f"{corpus.n_docs} documents of kos drawn at random, {train.n_tokens:,} training tokens, K = {TOPICS['kos']}, "
        "one start; bounds and test log probabilities per token, processor seconds in all.\n\n"
        f"{table(header, rows)}\n\nThe Gaussian form from ten other starts: bound {spread(_last(others, 'bound'), 4)}, "
        f"test {spread(_last(others, 'test'), 4)}."
    )


# -- topics --------------------------------------------------------------------------------------------------------


def topics(options: Options) -> str:
    sections = [_cvb_topics.section(options.data, options.settings.topics, name) for name in options.topic_corpora]
    return "\n\n".join(sections)


PARTS: dict[str, tuple[str, Callable[[Options], str]]] = {
    "figure1": ("CVB, figure 1: bounds and test probabilities against iterations", figure1),
    "starts": ("CVB, figure 1: VB and CVB from more starts", starts),
    "figure2": ("CVB, figure 2: against the number of documents", figure2),
    "exact": ("CVB, section 4: exact against Gaussian", exact),
    "topics": ("CGS_p, section 5.5 and figure 5: CGS, CGS_p, CVB0 and VB against the number of topics", topics),
}


def parse(arguments: Sequence[str]) -> tuple[Options, list[str]]:
    parser = argparse.ArgumentParser(prog="python -m reproduce.cvb", description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the corpora's folders")
    parser.add_argument("--corpora", nargs="+", default=["kos", "nips"])
    parser.add_argument("--topic-corpora", nargs="+", default=["reuters21578"], help="corpora of the section topics")
    parser.add_argument("--n-topics", type=int, nargs="+", help="numbers of topics of the section topics")
    parser.add_argument("--sections", nargs="+", default=list(SECTIONS), choices=SECTIONS)
    parser.add_argument("--runs", type=int, default=10, help="initialisations")
    parser.add_argument("--starts", type=int, default=50, help="starts of the section starts")
    parser.add_argument("--documents", type=int, default=100, help="documents of the section exact")
    parser.add_argument("--iterations", type=int, default=10, help="iterations of the section exact")
    parser.add_argument("--figures", type=Path, help="folder for figures (none are drawn without it)")
    parser.add_argument("--quick", action="store_true", help="small settings, to see that everything runs")
    given = parser.parse_args(arguments)
    if given.runs < 1:
        parser.error("--runs must be at least 1")
    settings = QUICK if given.quick else Settings()
    if given.n_topics:
        settings = replace(settings, topics=replace(settings.topics, n_topics=given.n_topics))
    wanted = [name for name in SECTIONS if name in given.sections]
    needed = {
        *(given.corpora if "figure1" in wanted else ()),
        *(("kos",) if {"figure2", "exact", "starts"} & set(wanted) else ()),
        *(given.topic_corpora if "topics" in wanted else ()),
    }
    missing = sorted(name for name in needed if not (given.data / name).is_dir())
    if missing:
        parser.error(f"{given.data} has no folder {', '.join(missing)}")
    options = Options(
        given.data,
        given.corpora,
        given.runs,
        given.figures,
        given.starts,
        given.documents,
        given.iterations,
        settings,
        given.topic_corpora,
    )
    return options, wanted


def main(arguments: Sequence[str]) -> None:
    run_sections("reproduce.cvb", arguments, *parse(arguments), PARTS)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"error: {error}")
