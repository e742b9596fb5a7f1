"""Time of a sweep against tokens, topics, lengths of documents and numbers of words.

    python -m benchmarks.scaling --tokens 1e5 1e6 1e7 1e8 --topics 100 1000 10000
    python -m benchmarks.scaling --curves --clock cpu --tokens 2e6

Corpora are synthetic, with Zipf's law for their words (``topicloom.datasets.zipf``). Chains start as samplers do;
after ``--settle`` sweeps the median of ``--sweeps`` more is taken. With ``--alpha-sum`` the prior of a document has the
same weight for every K, where α = 0.1 has that of 1,000 tokens at K = 10,000. A size whose sweeps would take more than
``--seconds-cap`` in all, judged by the size before it, is left out and said to be. A table and curves are written to
``--out``.

``--curves`` varies one thing at a time, with the largest number of ``--tokens``: lengths of documents, numbers of words
and numbers of topics; nanoseconds per token and sweep, and a figure for each. What does not vary is 200 tokens per
document, 50,000 words, and, where they are not what varies, each of the numbers in ``--topics``.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks._common import CLOCKS, figure, machine, need, save_figure, table, timed, without_paths
from benchmarks._corpora import occurring
from benchmarks._tools import ALPHA, BETA, Ours, say, warm_up
from topicloom.corpus import Corpus
from topicloom.datasets import zipf
from topicloom.engine.sampler import Schedule
from topicloom.errors import InputError, MissingExtraError
from topicloom.lda.gibbs import sampler_names

LINEAR = 0.15  # an exponent is called linear within this of 1
DOC_LENGTH = 200.0
VOCABULARIES = [10**3, 10**4, 5 * 10**4, 10**5, 5 * 10**5, 3 * 10**6]  # of the law; of 3 million some 470,000 occur
MANY_TOPICS = [20, 50, 100, 200, 500, 1000, 2000, 5000]


class Cell(NamedTuple):
    sampler: str
    n_tokens: int
    n_topics: int
    first: float  # seconds of the first sweep
    settled: float  # median seconds of the last ones

    @property
    def per_token(self) -> float:
        """Nanoseconds."""
        return self.settled / self.n_tokens * 1e9


def measure(
    corpus: Corpus, sampler: str, n_topics: int, alpha: float, settle: int, sweeps: int, threads: int, clock: str
) -> Cell:  # fmt: skip
    schedule = Schedule(n_shards=threads, n_jobs=threads)
    chain = Ours(sampler, corpus, n_topics, schedule, alpha)
    seconds = [timed(chain.sweep, clock) for _ in range(settle + sweeps)]
    return Cell(sampler, corpus.n_tokens, n_topics, seconds[0], float(np.median(seconds[settle:])))


def exponent(cells: Sequence[Cell]) -> float:
    """The power of the number of tokens with which the time grows, by least squares on logarithms."""
    x, y = np.log([cell.n_tokens for cell in cells]), np.log([cell.settled for cell in cells])
    return float(np.polyfit(x, y, 1)[0])


def run(given: argparse.Namespace) -> tuple[list[Cell], list[str]]:
    """All cells that are within the cap, and a note for each that is not."""
    cells: list[Cell] = []
    left_out: list[str] = []
    rounds = given.settle + given.sweeps
    for n_tokens in sorted(given.tokens):
        corpus = zipf(n_tokens, given.words, 100, doc_length=DOC_LENGTH, seed=1).corpus
        for sampler in given.samplers:
            for name in ("dense", "sparse", sampler):  # auto goes from the first to the second
                warm_up(name, corpus, 500 if name == sampler else 2, given.threads)
            for n_topics in sorted(given.topics):
                smaller = [c for c in cells if (c.sampler, c.n_topics) == (sampler, n_topics)]
                expected = smaller[-1].first * n_tokens / smaller[-1].n_tokens * rounds if smaller else 0.0
                dropped = any(f"{sampler}, K = {n_topics:,}," in note for note in left_out)
                if dropped or expected > given.seconds_cap:
                    left_out.append(f"{sampler}, K = {n_topics:,}, {n_tokens:,} tokens: about {expected:.0f} s")
                    continue
                alpha = ALPHA if given.alpha_sum is None else given.alpha_sum / n_topics
                how = (given.settle, given.sweeps, given.threads, given.clock)
                cells.append(measure(corpus, sampler, n_topics, alpha, *how))
                say(f"{sampler}, {n_tokens:,} tokens, K = {n_topics:,}: {cells[-1].per_token:.0f} ns a token")
    return cells, left_out


def rows_of(cells: Sequence[Cell]) -> list[list[str]]:
    return [
        [cell.sampler, f"{cell.n_topics:,}", f"{cell.n_tokens:,}", f"{cell.first / cell.n_tokens * 1e9:.0f}",
         f"{cell.settled:.4g}", f"{cell.per_token:.0f}"]
        for cell in sorted(cells, key=lambda c: (c.sampler, c.n_topics, c.n_tokens))
    ]  # fmt: skip


def verdicts(cells: Sequence[Cell]) -> list[str]:
    """For each sampler and number of topics: how the time grows with tokens."""
    found = []
    for sampler, n_topics in sorted({(cell.sampler, cell.n_topics) for cell in cells}):
        group = [cell for cell in cells if (cell.sampler, cell.n_topics) == (sampler, n_topics)]
        if len(group) > 1:
            power = exponent(group)
            word = "linear" if abs(power - 1) <= LINEAR else "NOT linear"
            found.append(f"{sampler}, K = {n_topics:,}: time grows as tokens to the power of {power:.2f}, {word}.")
    return found


def draw(cells: Sequence[Cell], path: Path) -> None:
    drawn, ((by_tokens, by_topics),) = figure((1, 2))
    for sampler, n_topics in sorted({(cell.sampler, cell.n_topics) for cell in cells}):
        group = [cell for cell in cells if (cell.sampler, cell.n_topics) == (sampler, n_topics)]
        by_tokens.plot(
            [c.n_tokens for c in group], [c.settled for c in group], "o-", ms=3, label=f"{sampler}, K = {n_topics:,}"
        )
    for sampler, n_tokens in sorted({(cell.sampler, cell.n_tokens) for cell in cells}):
        group = sorted((c for c in cells if (c.sampler, c.n_tokens) == (sampler, n_tokens)), key=lambda c: c.n_topics)
        by_topics.plot(
            [c.n_topics for c in group], [c.per_token for c in group], "o-", ms=3, label=f"{sampler}, {n_tokens:.0e}"
        )
    by_tokens.set(xscale="log", yscale="log", xlabel="tokens", ylabel="seconds a sweep")
    by_topics.set(xscale="log", yscale="log", xlabel="topics", ylabel="nanoseconds a token")
    for panel in (by_tokens, by_topics):
        panel.legend(fontsize=7)
    save_figure(drawn, path)


# -- one thing at a time ---------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """A point of a curve."""

    sampler: str
    x: int
    n_topics: int
    n_words: int  # that occur
    length: float  # tokens per document
    first: float  # nanoseconds per token
    settled: float


CURVES = {
    "length": "tokens per document",
    "words": "words",
    "topics": "topics",
}


def sizes_of(given: argparse.Namespace, kind: str) -> list[tuple[int, int, float, int]]:
    """What varies, then words, length of documents and topics of each point, so that a corpus is made once."""
    if kind == "length":
        return [(n, given.words, n, k) for n in sorted(given.lengths) for k in sorted(given.topics)]
    if kind == "words":
        return [(n, n, DOC_LENGTH, k) for n in sorted(given.vocabularies) for k in sorted(given.topics)]
    return [(k, given.words, DOC_LENGTH, k) for k in sorted(given.many_topics)]


def curve(given: argparse.Namespace, kind: str) -> tuple[list[Place], list[str]]:
    places: list[Place] = []
    left_out = []
    made: tuple[tuple[int, float], Corpus] | None = None
    tokens, rounds = max(given.tokens), given.settle + given.sweeps
    for x, n_words, length, n_topics in sizes_of(given, kind):
        if length > tokens / 2:
            left_out.append(f"{x:,} {CURVES[kind]}: fewer than two documents")
            continue
        if made is None or made[0] != (n_words, length):
            found = zipf(tokens, n_words, 100, doc_length=length, seed=1).corpus
            made = (n_words, length), occurring(found)
        corpus = made[1]
        for sampler in given.samplers:
            warm_up(sampler, corpus, n_topics, given.threads)
            before = [p for p in places if p.sampler == sampler and (kind == "topics" or p.n_topics == n_topics)]
            expected = before[-1].first * 1e-9 * corpus.n_tokens * rounds if before else 0.0
            if expected > given.seconds_cap:
                left_out.append(f"{sampler}, K = {n_topics:,}, {x:,} {CURVES[kind]}: more than {expected:.0f} s")
                continue
            alpha = ALPHA if given.alpha_sum is None else given.alpha_sum / n_topics
            how = (alpha, given.settle, given.sweeps, given.threads, given.clock)
            cell = measure(corpus, sampler, n_topics, *how)
            of_first = cell.first / cell.n_tokens * 1e9
            mean = corpus.n_tokens / corpus.n_docs
            places.append(Place(sampler, x, n_topics, corpus.n_words, mean, of_first, cell.per_token))
            say(f"{kind}: {sampler}, {x:,}, K = {n_topics:,}: {cell.per_token:.0f} ns a token")
    return places, left_out


def draw_curve(places: Sequence[Place], kind: str, path: Path) -> None:
    drawn, ((panel,),) = figure((1, 1))
    lines = sorted({(p.sampler, 0 if kind == "topics" else p.n_topics) for p in places})
    for sampler, n_topics in lines:
        group = [p for p in places if p.sampler == sampler and n_topics in (0, p.n_topics)]
        label = sampler if kind == "topics" else f"{sampler}, K = {n_topics:,}"
        panel.plot(
            [p.n_words if kind == "words" else p.x for p in group], [p.settled for p in group], "o-", ms=3, label=label
        )
    panel.set(xscale="log", xlabel=CURVES[kind], ylabel="nanoseconds per token and sweep")
    panel.set_ylim(bottom=0)
    panel.legend(fontsize=7)
    save_figure(drawn, path)


def curves_report(given: argparse.Namespace, shown: str) -> str:
    prior = f"α = {ALPHA}" if given.alpha_sum is None else f"Σα = {given.alpha_sum:g}"
    text = [
        f"`python -m benchmarks.scaling {shown}`",
        machine(),
        f"{max(given.tokens):,} tokens with Zipf's law for their words, {prior}, β = {BETA}, {given.threads} "
        f"thread{'s' * (given.threads > 1)}, {given.clock} time. Settled is the median of {given.sweeps} sweeps after "
        f"{given.settle}. What does not vary: {DOC_LENGTH:.0f} tokens per document, {given.words:,} words. Words that "
        "do not occur are left out, and the curve by words is drawn over those that do.",
    ]
    for kind, name in CURVES.items():
        places, left_out = curve(given, kind)
        if not places:
            raise InputError("--seconds-cap or --tokens leaves nothing to measure; raise it.")
        file = f"{given.name}_{kind}.png"
        draw_curve(places, kind, given.out / file)
        rows = [
            [f"{p.x:,}", p.sampler, f"{p.n_topics:,}", f"{p.n_words:,}", f"{p.length:,.0f}", f"{p.first:.0f}",
             f"{p.settled:.0f}"]
            for p in places
        ]  # fmt: skip
        head = [name, "sampler", "K", "words that occur", "tokens per document", "first sweep, ns a token"]
        text += [f"## By {name}", table([*head, "settled, ns a token"], rows)]
        if left_out:
            text.append(f"Left out: {'; '.join(left_out)}.")
        text.append(f"![time per token]({file})")
    whole = "\n\n".join(text) + "\n"
    (given.out / f"{given.name}.md").write_text(f"# Scaling\n\n{whole}", encoding="utf-8")
    return whole


# -- the command -----------------------------------------------------------------------------------------------------


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    def whole(text: str) -> int:
        return int(float(text))

    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__.split("\n\n")[0])
    parser.add_argument("--curves", action="store_true", help="against lengths, words and topics, a figure for each")
    parser.add_argument("--lengths", nargs="+", type=whole, default=[10**2, 10**3, 10**4, 10**5], help="of curves")
    parser.add_argument("--vocabularies", nargs="+", type=whole, default=VOCABULARIES, help="of curves")
    parser.add_argument("--many-topics", nargs="+", type=whole, default=MANY_TOPICS, help="of curves")
    parser.add_argument("--tokens", nargs="+", type=whole, default=[10**5, 10**6])
    parser.add_argument("--topics", nargs="+", type=whole, default=[100, 1000])
    parser.add_argument("--words", type=whole, default=50_000)
    parser.add_argument("--samplers", nargs="+", default=["auto"], choices=sampler_names())
    parser.add_argument("--settle", type=int, default=10)
    parser.add_argument("--sweeps", type=int, default=3)
    parser.add_argument("--alpha-sum", type=float, help="α times K; α is 0.1 for every K without it")
    parser.add_argument("--threads", type=int, default=1, help="as many shards")
    parser.add_argument("--clock", default="wall", choices=CLOCKS, help="cpu: for one thread on a shared machine")
    parser.add_argument("--seconds-cap", type=float, default=600.0, help="of one size's sweeps together")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--name", help="of the files written to --out (default: scaling, of curves scaling_curves)")
    given = parser.parse_args(arguments)
    given.name = given.name or ("scaling_curves" if given.curves else "scaling")
    sizes = (*given.topics, *given.tokens, *given.lengths, *given.vocabularies, *given.many_topics)
    if min(given.sweeps, given.threads, *sizes) < 1 or given.settle < 0:
        parser.error("all sizes, --sweeps and --threads must be at least 1, --settle at least 0")
    return given


def main(arguments: Sequence[str]) -> None:
    given = parse(arguments)
    need("matplotlib")
    given.out.mkdir(parents=True, exist_ok=True)
    if given.curves:
        print(curves_report(given, without_paths(arguments)))
        return
    cells, left_out = run(given)
    if not cells:
        raise InputError("--seconds-cap leaves nothing to measure; raise it.")
    draw(cells, given.out / f"{given.name}.png")
    head = ["sampler", "K", "tokens", "first sweep, ns a token", "settled, s a sweep", "settled, ns a token"]
    prior = f"α = {ALPHA}" if given.alpha_sum is None else f"Σα = {given.alpha_sum:g}"
    text = [
        f"`python -m benchmarks.scaling {without_paths(arguments)}`",
        machine(),
        f"Documents of {DOC_LENGTH:.0f} tokens on average, {given.words:,} words with Zipf's law, {prior}, "
        f"β = {BETA}, {given.threads} thread{'s' * (given.threads > 1)}; settled is the median of {given.sweeps} "
        f"sweeps after {given.settle}, in {given.clock} time.",
        table(head, rows_of(cells)),
        "\n".join(f"- {line}" for line in verdicts(cells)),
    ]
    if left_out:
        text.append(f"Left out, with their expected time above {given.seconds_cap:.0f} s: {'; '.join(left_out)}.")
    text.append(f"![time of a sweep]({given.name}.png)")
    whole = "\n\n".join(text) + "\n"
    (given.out / f"{given.name}.md").write_text(f"# Scaling\n\n{whole}", encoding="utf-8")
    print(whole)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (InputError, MissingExtraError) as error:
        sys.exit(f"error: {error}")
