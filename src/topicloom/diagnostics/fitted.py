"""Has a fitted model converged? What its chains have recorded, judged together.

Chains may number the same topics differently, so they are compared by what does not depend on that: the joint log
probability, learned priors, whether pairs of tokens have the same topic, how alike pairs of documents are
(``engine.probes``), how alike collections are. A topic is compared only if every chain has it.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import FloatArray, Int64Array
from topicloom.corpus._checks import check_number, check_whole, shown
from topicloom.diagnostics import html
from topicloom.diagnostics.alignment import align, chain_topics
from topicloom.diagnostics.bootstrap import BootstrapStability
from topicloom.engine import stopping
from topicloom.errors import InputError
from topicloom.evaluation.convergence import Summary, SummaryRow, Verdict, summary, verdict

_WORDS = 6  # of a topic, to tell it by
_GROUPS = {  # quantities of one kind stand in one row of the table, by the worst of them
    "same topic": "pairs of tokens in the same topic",
    "similarity, documents": "similarity of pairs of documents",
    "similarity, collections": "similarity of pairs of collections",
    "decision value": "decision values of documents",
}


class DiagnosisRow(NamedTuple):
    """A row of the table: one quantity, or several of a kind by the worst of them."""

    name: str
    quantities: int
    mean: float
    rhat: float  # the largest
    ess_bulk: float  # the smallest
    ess_tail: float


class TopicRow(NamedTuple):
    """A topic of the published chain. One that not every chain has is not comparable: its R-hat is NaN."""

    topic: int
    share: float  # of the tokens, on average over the chains that have it
    chains: int  # that have it, the published one included
    rhat: float
    ess_bulk: float
    comparable: bool


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What the chains of a model say about its convergence. ``str(diagnosis)`` is the verdict."""

    n_chains: int
    n_draws: int  # recorded sweeps per chain that are judged
    discarded: int  # sweeps that are not, from the start of each chain
    sweeps: int  # of each chain
    quantities: Summary | None  # None of a model that draws nothing
    verdict: Verdict
    topics: tuple[TopicRow, ...]
    max_rhat: float = 1.05  # the largest that is taken as agreement
    words: tuple[str, ...] = ()  # the likeliest of each topic
    names: tuple[str | None, ...] = ()  # of topics

    def __str__(self) -> str:
        return self.verdict.text

    def _repr_html_(self) -> str:
        return html.diagnosis_html(self)

    def rows(self) -> list[DiagnosisRow]:
        """One row per quantity, pairs of a kind put together."""
        if self.quantities is None:
            return []
        found: dict[str, list[Any]] = {}
        for row in self.quantities.rows():
            kind = next((name for start, name in _GROUPS.items() if row.name.startswith(start)), row.name)
            found.setdefault(kind, []).append(row)
        return [_put_together(name, rows) for name, rows in found.items()]

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON knows it; what is not a number is None."""
        return {
            "verdict": self.verdict.text,
            "agree": self.verdict.agree,
            "enough": self.verdict.enough,
            "more_sweeps": self.verdict.more_sweeps,
            "n_chains": self.n_chains,
            "n_draws": self.n_draws,
            "discarded": self.discarded,
            "quantities": [_plain(row._asdict()) for row in self.rows()],
            "topics": [{"name": name, **_plain(row._asdict())} for row, name in self._named_topics()],
        }

    def _named_topics(self) -> list[tuple[TopicRow, str | None]]:
        return [(row, self.names[row.topic] if row.topic < len(self.names) else None) for row in self.topics]

    def to_json(self, path: str | Path) -> None:
        """Write ``to_dict()`` to a file."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1) + "\n", encoding="utf-8")

    def to_html(self, path: str | Path, bootstrap: BootstrapStability | None = None) -> None:
        """Write the verdict and both tables as a page that needs nothing else.

        With what ``bootstrap_stability`` found, the page has that, too.
        """
        Path(path).write_text(html.diagnosis_page(self, bootstrap), encoding="utf-8")


def diagnose(
    model: Any, *, discard: int | None = None, max_rhat: float = 1.05, min_ess: float | None = None
) -> Diagnosis:
    """Judge whether the chains of a fitted model agree, by quantities that do not depend on topics' numbers.

    Parameters
    ----------
    model : fitted model of topicloom
        With ``n_chains`` of 2 or more, 4 being better. Of one chain only its two halves can be compared.
    discard : int, default=None
        Sweeps at the start of each chain that are left out. None is ``burn_in`` or, if the model has none, half of the
        sweeps.
    max_rhat : float, default=1.05
        The largest R-hat that is taken as agreement.
    min_ess : float, default=None
        The smallest effective sample size that is enough. None is 100 per chain.

    Returns
    -------
    Diagnosis

    Notes
    -----
    Draws are the recorded sweeps, every ``trace_every`` of them. Each number that ``keep_draws`` kept is a quantity,
    too, by its draws at every ``thin``-th sweep from ``burn_in`` on, if each chain has four or more. It must be one
    that does not depend on topics' numbers. R-hat compares what chains say with what their halves say: chains that all
    miss the same region agree. More chains from other starts are the only remedy.

    Examples
    --------
    >>> from topicloom import LDA
    >>> from topicloom.datasets import bars
    >>> model = LDA(5, n_chains=4, max_iter=200, trace_every=2, random_state=0).fit(bars(n_docs=100).corpus)
    >>> diagnosis = diagnose(model)
    >>> diagnosis.n_chains, diagnosis.n_draws
    (4, 51)
    >>> diagnosis.rows()[0].name
    'log joint probability'
    """
    if not hasattr(model, "seed_") or not hasattr(model, "traces_"):
        raise InputError(f"model is {shown(model)}; give a fitted model of topicloom.")
    check_number("max_rhat", max_rhat, 1.0, math.inf)
    traces, sweeps = model.traces_, int(model.n_iter_)
    if not model._samples or not all(trace.probes for trace in traces):
        return _without_draws(model, sweeps)
    if discard is None:
        discard = stopping.discarded(sweeps, getattr(model, "burn_in", None))
    elif check_whole("discard", discard, 0) >= sweeps:
        raise InputError(f"discard={discard} leaves none of {sweeps} sweeps; give a smaller number.")
    late = stopping.late_records(traces, discard)
    if len(late[0]) < stopping.LEAST_RECORDS:
        raise InputError(
            f"the chains have {len(late[0])} recorded sweeps after sweep {discard}, but at least "
            f"{stopping.LEAST_RECORDS} are needed: make more sweeps (max_iter), record more of them (trace_every), or "
            "discard fewer."
        )
    groups = model._chain_groups(len(traces))
    rule = stopping.Converged(max_rhat, min_ess)
    n_draws, table, found = stopping.judge(
        traces, groups, late, rule, sweeps_per_draw=model.trace_every, names=model._probe_names()
    )
    kept = _kept_numbers(model, groups, discard)
    if kept:
        table = _side_by_side(table, summary(np.stack([*kept.values()], axis=2), [*kept]))
        found = verdict(table, max_rhat=max_rhat, min_ess=min_ess, sweeps_per_draw=model.trace_every)
    topics = tuple(_topics(model, late)) if len(groups) == 1 else ()
    words = tuple(" ".join(own) for own in model.top_words(_WORDS)) if topics else ()
    names = model.topic_names_ if topics else ()
    return Diagnosis(len(groups[0]), n_draws, discard, sweeps, table, found, topics, max_rhat, words, names)


def _without_draws(model: Any, sweeps: int) -> Diagnosis:
    """Of a model that draws nothing, or that was fitted by a version that did not record what is compared."""
    n_chains = len(model.traces_)
    if model._samples:
        text = (
            "This model has no record of what its chains are compared by: too few sweeps (one in trace_every is "
            "recorded), or an earlier version fitted it. Fit it again."
        )
        return Diagnosis(n_chains, 0, 0, sweeps, None, Verdict(False, False, None, text), ())
    done = sweeps < model.max_iter
    text = (
        f"The iterations have {'converged' if done else 'not converged'} after {sweeps}. This says that they stand "
        "still, not that another start would end in the same place: compare several (n_chains) by their log_joint_."
    )
    return Diagnosis(n_chains, 0, 0, sweeps, None, Verdict(done, done, None, text), ())


def _kept_numbers(model: Any, groups: list[list[int]], first: int) -> dict[str, FloatArray]:
    """Kept draws [chains, draws] that are one number each, from sweep ``first`` on; what never changes is left out."""
    draws = model.draws_ if getattr(model, "keep_draws", None) else {}
    skipped = -(-max(first - model.burn_in, 0) // model.thin) if draws else 0
    found = {name: values[:, skipped:] for name, values in draws.items() if values.ndim == 2}
    return {
        name if len(groups) == 1 else f"{name}, chains of group {number}": values[group]
        for number, group in enumerate(groups)
        for name, values in found.items()
        if values.shape[1] >= stopping.LEAST_RECORDS and np.ptp(values[group]) > 0
    }


def _side_by_side(table: Summary, other: Summary) -> Summary:
    """Quantities of both, which may have different numbers of draws."""
    measures: dict[str, Any] = {
        name: np.concatenate((getattr(table, name), getattr(other, name))) for name in SummaryRow._fields[1:]
    }
    return replace(table, names=(*table.names, *other.names), **measures)


def _topics(model: Any, late: list[Int64Array]) -> Iterator[TopicRow]:
    """Each topic of the published chain: the chains that have it and, if all do, R-hat of its share."""
    traces, best = model.traces_, model.best_chain_
    if not all(trace.topic_sizes for trace in traces) or not hasattr(model, "_word_counts_of"):
        return
    sizes = [np.array(trace.topic_sizes, float)[which] for trace, which in zip(traces, late, strict=True)]
    shares = [chain / np.maximum(chain.sum(axis=1, keepdims=True), 1) for chain in sizes]
    n_topics = shares[0].shape[1]
    alone = np.arange(n_topics)[None]
    matches = alone if len(traces) == 1 else align(chain_topics(model), reference=best).matches
    for k in range(n_topics):
        own = [share[:, match] for share, match in zip(shares, matches[:, k], strict=True) if match >= 0]
        comparable = len(own) == len(traces)
        table = summary(np.array(own)) if comparable and np.ptp(own) > 0 else None
        yield TopicRow(
            k, float(np.mean(own)), len(own), math.nan if table is None else float(table.rhat[0]),
            math.nan if table is None else float(table.ess_bulk[0]), comparable,
        )  # fmt: skip


def _put_together(name: str, rows: list[Any]) -> DiagnosisRow:
    rhats = [row.rhat for row in rows if not math.isnan(row.rhat)]
    return DiagnosisRow(
        name, len(rows), float(np.mean([row.mean for row in rows])), max(rhats, default=math.nan),
        min(row.ess_bulk for row in rows), min(row.ess_tail for row in rows),
    )  # fmt: skip


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()
    }
