"""What a search over numbers of topics found: a table, a range, what was dropped, a verdict in words."""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from topicloom._types import BoolArray, FloatArray, Int64Array
from topicloom.corpus._lines import replacing
from topicloom.corpus.frames import to_frame
from topicloom.diagnostics import html
from topicloom.diagnostics.search_rounds import Dropped, Round
from topicloom.diagnostics.search_tasks import MEASURES
from topicloom.errors import counted
from topicloom.files.arrays import as_path

# The columns that have an error beside them, and the measures of topics.
SCORES = ("completion", "left_to_right")
OF_TOPICS = (*MEASURES, "stability")


@dataclass(frozen=True, eq=False)
class TopicSearch:
    """Numbers of topics compared. ``str(search)`` is the verdict.

    Attributes
    ----------
    n_topics : array of shape (n,)
        The numbers that were searched, ascending. All arrays below have one entry for each, NaN where it was dropped.
    completion, completion_se : arrays
        Log-likelihood per token of the second halves of held-out documents, and its standard error.
    completion_se_documents, completion_se_chains : arrays
        The two parts of the error: which documents were held out, and Monte Carlo noise of chains (NaN for one chain).
        Their squares add up to that of ``completion_se``.
    difference, difference_se : arrays
        Difference of ``completion`` to the highest, and its standard error, over the same documents.
    left_to_right, left_to_right_se : arrays
        Log-likelihood per token of whole held-out documents, of some of them.
    measures, measures_se : dicts of str to array
        c_npmi, u_mass, c_v, exclusivity, diversity, dispersion, harmonic_mean, mean_cosine, singular_divergence,
        mean_divergence, topics_in_use and stability: mean over chains and folds, and standard error (over these alone).
        Topics in use are the exponential of the entropy of their sizes.
    within_one_se : array of bool
        Whether a number is no more than one standard error below the highest. Where errors are known from few chains,
        a little more: what Student's t holds in place of a normal distribution.
    recommended : (int, int)
        The range from the smallest to the largest of these.
    cannot_tell_apart : tuple of int
        Numbers that are no more than ``tell_apart`` standard errors below the highest.
    tell_apart : float
    dropped : tuple of Dropped
        Which numbers got no more sweeps, when, and on what evidence.
    rounds : tuple of Round
        How much evidence each round had.
    n_docs, n_tokens : int
        Held-out documents and tokens that ``completion`` is over.
    seed : int
    text : str
        All of it in words.
    """

    n_topics: Int64Array
    completion: FloatArray
    completion_se: FloatArray
    completion_se_documents: FloatArray
    completion_se_chains: FloatArray
    difference: FloatArray
    difference_se: FloatArray
    left_to_right: FloatArray
    left_to_right_se: FloatArray
    measures: Mapping[str, FloatArray]
    measures_se: Mapping[str, FloatArray]
    within_one_se: BoolArray
    recommended: tuple[int, int]
    cannot_tell_apart: tuple[int, ...]
    tell_apart: float
    dropped: tuple[Dropped, ...]
    rounds: tuple[Round, ...]
    n_docs: int
    n_tokens: int
    seed: int
    text: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        low, high = self.recommended
        return f"TopicSearch({len(self.n_topics)} numbers of topics, recommended {low} to {high})"

    def _repr_html_(self) -> str:
        return html.search_html(self)

    # -- tables --------------------------------------------------------------------------------------------------

    def rows(self) -> list[dict[str, Any]]:
        """One dict per number of topics.

        Keys are ``n_topics``, ``dropped`` (the round, 0 if it was not), ``within_one_se``, ``cannot_tell_apart``, the
        scores and measures, and the errors of both with ``_se`` behind the name.
        """
        columns = {name: values.tolist() for name, values in self._columns().items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_frame(self, frame: Any = None) -> Any:
        """The rows as a table. ``frame`` is "pandas", "polars", "pyarrow" or "rows"; by default what is installed."""
        return to_frame(self._columns(), frame)

    def _columns(self) -> dict[str, Any]:
        when = {one.n_topics: one.round for one in self.dropped}
        columns: dict[str, Any] = {
            "n_topics": self.n_topics,
            "dropped": np.array([when.get(int(k), 0) for k in self.n_topics]),
            "within_one_se": self.within_one_se,
            "cannot_tell_apart": np.isin(self.n_topics, self.cannot_tell_apart),
        }
        names = ("completion", "completion_se", "completion_se_documents", "completion_se_chains")
        for name in (*names, "difference", "difference_se", "left_to_right", "left_to_right_se"):
            columns[name] = getattr(self, name)
        for name in OF_TOPICS:
            columns |= {name: self.measures[name], f"{name}_se": self.measures_se[name]}
        return columns

    def choices(self) -> dict[str, int]:
        """The number of topics that each measure would choose by itself: for comparisons, not as advice.

        A measure that could not be computed for any number is left out.
        """
        more = {"completion": True, "left_to_right": True, "stability": True}
        more |= {name: better == "more" for name, better in MEASURES.items() if better != "neither"}
        found = {}
        for name, upwards in more.items():
            values = getattr(self, name) if name in SCORES else self.measures[name]
            usable = np.isfinite(values)
            if usable.any():
                ordered = np.where(usable, values if upwards else -values, -np.inf)
                found[name] = int(self.n_topics[int(np.argmax(ordered))])
        return found

    # -- files and pictures --------------------------------------------------------------------------------------

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write everything as JSON; gzipped if the name ends in ``.gz``. What is not known is null."""
        with replacing(as_path(path)) as file:
            file.write(json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False, indent=1).encode())

    def as_dict(self) -> dict[str, Any]:
        """Everything, as lists, dicts and numbers; what is not known is None."""
        rows = [{name: _known(value) for name, value in row.items()} for row in self.rows()]
        return {
            "text": self.text,
            "recommended": list(self.recommended),
            "cannot_tell_apart": list(self.cannot_tell_apart),
            "tell_apart": self.tell_apart,
            "rows": rows,
            "dropped": [one._asdict() for one in self.dropped],
            "rounds": [one._asdict() for one in self.rounds],
            "held_out_documents": self.n_docs,
            "held_out_tokens": self.n_tokens,
            "seed": self.seed,
        }


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


# -- the verdict -------------------------------------------------------------------------------------------------


def in_words(
    n_topics: Int64Array, within: BoolArray, together: BoolArray, tell_apart: float, dropped: tuple[Dropped, ...],
    n_docs: int, n_chains: int,
) -> str:  # fmt: skip
    """The verdict."""
    chosen, alike = n_topics[within].tolist(), n_topics[together].tolist()
    searched = f"{counted(n_docs, 'held-out documents')} and {counted(n_chains, 'chains')}"
    low, high = chosen[0], chosen[-1]
    span = f"{low} to {high} topics" if high > low else f"about {low} topics"
    lines = [f"Recommended: {span}, which predict held-out words best ({searched}; one-standard-error rule)."]
    if high > low:
        lines.append(f"The data do not say which of {_listed(chosen)} is better; take the smallest that serves you.")
    further = [k for k in alike if k not in chosen]
    if further:
        are = "are" if len(further) > 1 else "is"
        lines.append(f"{_listed(further)} {are} a little worse, but by less than {tell_apart:g} standard errors.")
    if len(alike) == len(n_topics) > 1:
        lines.append("No number that was searched can be told from the others: there are too few documents for that.")
    if len(n_topics) > 1:
        if high == n_topics[-1]:
            lines.append(f"{high} is the largest number searched; more may be better still. Search beyond it.")
        if low == n_topics[0]:
            lines.append(f"{low} is the smallest number searched; fewer may do as well.")
    if n_chains == 1:
        lines.append("With one chain the noise of chains is not known, and the range is too narrow; give more.")
    if dropped:
        lines.append(f"Dropped early, as hopeless: {_listed(sorted(one.n_topics for one in dropped))}.")
    return " ".join(lines)


def _listed(numbers: list[int]) -> str:
    names = [str(k) for k in numbers]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
