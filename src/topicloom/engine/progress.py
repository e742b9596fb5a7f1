"""What long work shows while it runs."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from topicloom.corpus.corpus import Corpus
from topicloom.engine.run import Callback, Chain, Plan


def announce(text: str) -> None:
    """A line on standard error, before long work."""
    from rich.console import Console

    Console(stderr=True, highlight=False, soft_wrap=True).print(text)


class Shown(NamedTuple):
    """What moves the lines."""

    callbacks: Sequence[Callback] = ()
    extend: Callable[[int], None] = lambda total: None  # to so many sweeps per chain


@contextmanager
def progress(show: bool, corpus: Corpus, chains: Sequence[Chain], plan: Plan) -> Iterator[Shown]:
    """A line per chain on standard error: sweeps and joint log probability."""
    if not show:
        yield Shown()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        tasks = {
            chain.index: bar.add_task(
                "sweeps" if len(chains) == 1 else f"chain {chain.index}",
                total=plan.max_iter,
                completed=chain.sweep,
                note="starting …",
            )
            for chain in chains
        }

        def show_sweep(chain: Chain) -> None:
            trace = chain.trace
            note = f"log joint/token {trace.log_joint[-1] / corpus.n_tokens:.4f}" if trace.log_joint else ""
            bar.update(tasks[chain.index], completed=chain.sweep, note=note)

        def extend(total: int) -> None:
            for task in tasks.values():
                bar.update(task, total=total)

        yield Shown([show_sweep], extend)
