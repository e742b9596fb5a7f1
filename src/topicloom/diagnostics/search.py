"""How many topics: numbers of topics compared by what they predict, with errors, a range and no single answer."""

import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import FloatArray
from topicloom.corpus._checks import check_number, check_whole, items
from topicloom.corpus.corpus import Corpus, check_corpus
from topicloom.diagnostics.search_result import OF_TOPICS, TopicSearch, in_words
from topicloom.diagnostics.search_rounds import (
    Dropped,
    Round,
    fits_of,
    left_to_right_scores,
    look,
    mean_and_error,
    plan_rounds,
    scores_of,
    tasks_of,
)
from topicloom.diagnostics.search_rule import Estimate, compare, per_token
from topicloom.diagnostics.search_tasks import (
    MEASURES,
    Begun,
    Found,
    Setting,
    Task,
    begun_by,
    check_model_parameters,
    make_folds,
    run_task,
)
from topicloom.diagnostics.topic_stability import stability
from topicloom.engine import places
from topicloom.engine.estimator import inputs, parameters
from topicloom.engine.independent import n_at_a_time, run_independent
from topicloom.engine.threads import resolve_jobs
from topicloom.errors import InputError, counted
from topicloom.files.arrays import as_path, cannot_write
from topicloom.files.remote import is_url
from topicloom.lda.gibbs.merged_start import sweeps_of_start, topics_of_start

__all__ = ["Dropped", "Round", "TopicSearch", "search_topics"]

_PILOT_TOKENS = 20_000
_PILOT_SWEEPS = 5


def search_topics(
    corpus: Corpus,
    n_topics: Sequence[int],
    *,
    n_chains: int = 4,
    folds: int = 1,
    test_share: float = 0.2,
    max_iter: int = 150,
    halving: bool = True,
    tell_apart: float = 2.0,
    n_words: int = 10,
    n_particles: int = 10,
    left_to_right_docs: int = 100,
    n_jobs: int | None = None,
    random_state: Any = None,
    checkpoint_dir: str | Path | None = None,
    verbose: int = 0,
    **model_parameters: Any,
) -> TopicSearch:
    """Compare numbers of topics by how well they predict held-out words; recommend a range.

    Parameters
    ----------
    corpus : Corpus
        With whole tokens. Documents of one token or none are never held out.
    n_topics : sequence of int
        Numbers of topics to compare, for instance ``[5, 10, 20, 40]``.
    n_chains : int, default=4
        Independent chains per number of topics. With one chain their noise is not known.
    folds : int, default=1
        1 holds out ``test_share`` of the documents once. With F ≥ 2 documents are cut into F parts, each of which is
        held out in turn: more evidence, at F times the cost.
    test_share : float, default=0.2
        Share of the documents to hold out if ``folds`` is 1.
    max_iter : int, default=150
        Sweeps of a chain, after its start.
    halving : bool, default=True
        Start with few sweeps, one chain and a part of the held-out documents, and drop hopeless numbers.
        Runs of fewer than 120 sweeps are too short for that.
    tell_apart : float, default=2.0
        From how many standard errors on a difference counts as one.
    n_words : int, default=10
        Words of a topic, for coherence and exclusivity.
    n_particles, left_to_right_docs : int, default=10 and 100
        Particles of the left-to-right estimate, and documents per fold that it is computed for.
    n_jobs : int, optional
        Fits at a time, by joblib: threads, unless ``joblib.parallel_config`` says otherwise. None is what that says, or
        1. Within ``topicloom.scale.ray`` each fit is a task of one worker instead. None of it changes any result.
    random_state : int, RandomState or None, default=None
        Seed.
    checkpoint_dir : path, optional
        Folder in which every finished fit is kept. The same search with the same folder resumes where it was stopped,
        with the same result. Needs a whole number as ``random_state``.
    verbose : int, default=0
        1 prints the estimated time, then each round.
    **model_parameters
        Further parameters of :class:`~topicloom.LDA`, the same for all: ``doc_topic_prior``, ``topic_word_prior``,
        ``learn_priors``, ``sampler``, ``burn_in``, …

    Returns
    -------
    TopicSearch

    Raises
    ------
    InputError
        If documents, numbers of topics or parameters cannot be used.

    See Also
    --------
    topicloom.diagnostics.topic_stability.stability : which topics are found again in other chains.

    Notes
    -----
    The score is the log-likelihood per token of the second half of each held-out document, given its first half.
    Numbers of topics are compared over the same documents: the standard error of a difference is that of the documents'
    differences, and the noise of chains on both sides is added (:mod:`topicloom.diagnostics.search_rule`).

    Chains that start at random get stuck where two topics are one. That happens most often to the right number of
    topics, which has none to spare. So chains start with more topics, which are then merged
    (:mod:`topicloom.lda.gibbs.merged_start`), in 100 sweeps or half of ``max_iter``, whichever is less. Another number
    is ``sampler_options={"start_sweeps": …}``; 0 starts at random.

    All fits have seeds of their own, by hashing, so that results do not depend on ``n_jobs``, the backend or the order.

    Examples
    --------
    >>> from topicloom.datasets import synthetic_lda
    >>> from topicloom.diagnostics import search_topics
    >>> corpus = synthetic_lda(n_docs=300, n_words=100, n_topics=4, doc_length=40).corpus
    >>> search = search_topics(corpus, [2, 4, 8], n_chains=2, max_iter=50, random_state=0)
    >>> search.recommended
    (4, 4)
    """
    check_corpus(corpus)
    numbers = _numbers(n_topics)
    for name, value, least in (
        ("n_chains", n_chains, 1), ("folds", folds, 1), ("max_iter", max_iter, 1), ("n_words", n_words, 1),
        ("n_particles", n_particles, 1), ("left_to_right_docs", left_to_right_docs, 2),
    ):  # fmt: skip
        check_whole(name, value, least)
    if not 0 < check_number("test_share", test_share, 0.0, 1.0) < 1:
        raise InputError(f"test_share={test_share} must lie between 0 and 1.")
    check_number("tell_apart", tell_apart, 1.0, np.inf)
    parameters.flag("halving", halving)
    parameters.flag("verbose", verbose)
    if n_jobs is not None:
        resolve_jobs(n_jobs)
    handed_on = check_model_parameters(model_parameters, max_iter, numbers)
    inputs.check_some_tokens(corpus)
    inputs.check_whole_tokens(corpus)
    seed = inputs.draw_seed(random_state)
    folder = None if checkpoint_dir is None else _folder(checkpoint_dir, random_state)
    held_out = make_folds(corpus, folds, test_share, seed)
    setting = Setting(corpus, seed, held_out, handed_on, n_words, n_particles, left_to_right_docs)
    rounds = plan_rounds(max_iter, n_chains, held_out, bool(halving))
    if verbose:
        _say(str(search_cost(setting, numbers, rounds, n_jobs)))
    return _search(setting, numbers, rounds, tell_apart, _Runner(setting, folder, n_jobs, bool(verbose), {}))


# -- the search --------------------------------------------------------------------------------------------------


class _Runner(NamedTuple):
    """Runs tasks."""

    setting: Setting
    folder: Path | None
    n_jobs: int | None
    verbose: bool
    begun: dict[tuple[int, int, int], Begun]  # chains of first looks, by number of topics, chain and fold

    def tasks(self, tasks: Sequence[Task]) -> dict[Task, Found]:
        given = [(task, self.begun.pop(task[:3], None)) for task in tasks]
        found = run_independent(partial(_run, self.setting, self.folder), given, self.n_jobs)
        for task, one in zip(tasks, found, strict=True):
            chain = begun_by(task, one)
            if chain is not None:
                self.begun[task[:3]] = chain
        return dict(zip(tasks, found, strict=True))


def _run(setting: Setting, folder: Path | None, given: tuple[Task, Begun | None]) -> Found:
    return run_task(setting, given[0], folder, given[1])


def _search(
    setting: Setting, numbers: tuple[int, ...], rounds: tuple[Round, ...], tell_apart: float, run: _Runner
) -> TopicSearch:
    dropped: list[Dropped] = []
    for number, given in enumerate(rounds[:-1], 1):
        left = _left(numbers, dropped)
        if len(left) == 1:
            break
        if run.verbose:
            _say(f"round {number}: {counted(given.sweeps, 'sweeps')} of {', '.join(map(str, left))} topics")
        dropped += look(setting, left, number, given, rounds[-1].sweeps, run.tasks)
    left, last = _left(numbers, dropped), rounds[-1]
    if run.verbose:
        gone = f"; dropped {', '.join(str(one.n_topics) for one in dropped)}" if dropped else ""
        _say(f"last round: {', '.join(map(str, left))} topics{gone}")
    found = run.tasks(tasks_of(left, last, last=True))
    return _judged(setting, numbers, rounds, tell_apart, tuple(dropped), found)


def _left(numbers: tuple[int, ...], dropped: Sequence[Dropped]) -> list[int]:
    gone = {one.n_topics for one in dropped}
    return [k for k in numbers if k not in gone]


def _judged(
    setting: Setting, numbers: tuple[int, ...], rounds: tuple[Round, ...], tell_apart: float,
    dropped: tuple[Dropped, ...], found: dict[Task, Found],
) -> TopicSearch:  # fmt: skip
    last, left = rounds[-1], set(_left(numbers, dropped))
    fits = {k: fits_of(found, k, last) for k in numbers if k in left}
    scores = [scores_of(setting, fits[k], last) if k in left else None for k in numbers]
    ranking = compare(scores, tell_apart)
    completion = _columns([None if one is None else per_token(one) for one in scores])
    whole = _columns([per_token(left_to_right_scores(setting, fits[k], last)) if k in left else None for k in numbers])
    means, errors = _measured(numbers, fits)
    n_topics = np.array(numbers, np.int64)
    within = n_topics[ranking.within_one].tolist()
    some = next(one for one in scores if one is not None)
    return TopicSearch(
        n_topics=n_topics,
        completion=completion[0],
        completion_se=completion[1],
        completion_se_documents=completion[2],
        completion_se_chains=completion[3],
        difference=ranking.difference,
        difference_se=ranking.error,
        left_to_right=whole[0],
        left_to_right_se=whole[1],
        measures=means,
        measures_se=errors,
        within_one_se=ranking.within_one,
        recommended=(within[0], within[-1]),
        cannot_tell_apart=tuple(n_topics[ranking.together].tolist()),
        tell_apart=float(tell_apart),
        dropped=dropped,
        rounds=rounds,
        n_docs=len(some.tokens),
        n_tokens=int(some.tokens.sum()),
        seed=setting.seed,
        text=in_words(
            n_topics, ranking.within_one, ranking.together, tell_apart, dropped, len(some.tokens), last.n_chains
        ),
    )


def _columns(estimates: list[Estimate | None]) -> FloatArray:
    """Means, errors, their parts and degrees of freedom [5, n]; NaN where there is none."""
    nothing = Estimate(*[np.nan] * 5)
    return np.array([nothing if one is None else one for one in estimates]).T


def _measured(
    numbers: tuple[int, ...], fits: dict[int, list[list[Found]]]
) -> tuple[Mapping[str, FloatArray], Mapping[str, FloatArray]]:
    """Measures of topics and their errors over fits, by name."""
    means = {name: np.full(len(numbers), np.nan) for name in OF_TOPICS}
    errors = {name: np.full(len(numbers), np.nan) for name in OF_TOPICS}
    for i, k in enumerate(numbers):
        if k not in fits:
            continue
        table = np.array([fit.measures for of_fold in fits[k] for fit in of_fold])
        for j, name in enumerate(MEASURES):
            means[name][i], errors[name][i] = mean_and_error(table[:, j])
        if len(fits[k][0]) > 1:
            again = np.array([stability([fit.topics for fit in of_fold]).score for of_fold in fits[k]])
            means["stability"][i], errors["stability"][i] = mean_and_error(again)
    return means, errors


# -- what it costs -----------------------------------------------------------------------------------------------


class Cost(NamedTuple):
    """What a search costs at most: if no number of topics is dropped."""

    n_fits: int
    token_sweeps: float  # tokens drawn
    seconds: float

    def __str__(self) -> str:
        minutes = self.seconds / 60
        about = f"{self.seconds:.0f} seconds" if self.seconds < 120 else f"{minutes:,.0f} minutes"
        return f"at most {counted(self.n_fits, 'fits')}, {self.token_sweeps:.2g} tokens drawn, about {about}."


def search_cost(setting: Setting, numbers: Sequence[int], rounds: Sequence[Round], n_jobs: int | None) -> Cost:
    """Time of a search, from a few sweeps over some documents with the fewest and with the most topics.

    Chains go on from round to round, so that first looks cost nothing of their own. Measuring takes little beside
    fitting unless documents are many; it is not counted.
    """
    ends = (min(numbers), topics_of_start(max(numbers)))
    slow = [_seconds_per_token(setting, k) for k in ends]
    asked = setting.parameters.get("sampler_options", {}).get("start_sweeps", 0)
    start = 0 if asked == "auto" else sweeps_of_start(asked)
    seconds, drawn = 0.0, 0.0
    tasks = tasks_of(numbers, rounds[-1], last=True)  # what first looks draw is a part of it
    for task in tasks:
        tokens = setting.corpus.n_tokens - int(setting.corpus.doc_lengths[setting.folds[task.fold]].sum())
        drawn += tokens * (start + task.sweeps)
        for sweeps, n_topics in ((start, topics_of_start(task.n_topics)), (task.sweeps, task.n_topics)):
            seconds += tokens * sweeps * float(np.interp(n_topics, ends, slow))
    return Cost(len(tasks), drawn, seconds / n_at_a_time(n_jobs))


def _seconds_per_token(setting: Setting, n_topics: int) -> float:
    """Of one sweep."""
    from topicloom.lda.model import LDA

    corpus = setting.corpus
    behind = int(np.searchsorted(np.cumsum(corpus.doc_lengths), _PILOT_TOKENS, side="right"))
    some = corpus.select(np.arange(max(min(behind, corpus.n_docs), 1)))
    if some.n_tokens == 0:
        some = corpus
    options = {**setting.parameters.get("sampler_options", {}), "start_sweeps": 0}
    shared = {
        **setting.parameters, "n_components": n_topics, "random_state": 0, "burn_in": None, "sampler_options": options,
    }  # fmt: skip
    times = []
    for sweeps in (1, 1, 1 + _PILOT_SWEEPS):  # the first may compile
        model = LDA(**{**shared, "max_iter": sweeps})
        model._quiet = True
        start = time.perf_counter()
        with places.using(None):
            model.fit(some)
        times.append(time.perf_counter() - start)
    return max(times[2] - times[1], 1e-9) / _PILOT_SWEEPS / some.n_tokens


# -- checks ------------------------------------------------------------------------------------------------------


def _numbers(n_topics: Any) -> tuple[int, ...]:
    given = items("n_topics", n_topics)
    numbers = tuple(sorted(check_whole(f"n_topics[{i}]", k, 1) for i, k in enumerate(given)))
    if not numbers:
        raise InputError("n_topics is empty; give the numbers of topics to compare, for instance [5, 10, 20].")
    if len(set(numbers)) < len(numbers):
        twice = next(k for i, k in enumerate(numbers) if k in numbers[:i])
        raise InputError(f"n_topics has {twice} twice; numbers of topics must be distinct.")
    return numbers


def _folder(checkpoint_dir: Any, random_state: Any) -> Path:
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise InputError(
            "checkpoint_dir needs a whole number as random_state: with another seed nothing that is kept could be used."
        )
    if is_url(checkpoint_dir):
        raise InputError(
            f"checkpoint_dir={checkpoint_dir!r} is an address; a search keeps its fits in a local directory."
        )
    folder = as_path(checkpoint_dir)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    return folder


def _say(text: str) -> None:
    print(f"search_topics: {text}", file=sys.stderr, flush=True)
