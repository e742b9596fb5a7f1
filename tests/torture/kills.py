"""Fits, resumes and saves that are killed at random moments, and what each leaves behind.

Children are forked from one process that has all code compiled, so that a kill takes a fraction of a second.
"""

import itertools
import os
import random
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import topicloom
from tests.helpers.saved import files_in
from tests.torture.cases import CASES, EARLIER, SWEEPS
from topicloom.files.directories import Stored, is_free
from topicloom.files.manifests import MANIFEST

SAME, OLD, NEW, EMPTY, OTHER = "same bits", "old model", "new model", "empty", "OTHER"
OUTCOMES = (SAME, OLD, NEW, EMPTY, OTHER)
BEGINNINGS = {  # what the directory has when a stage begins
    "fit": ("nothing",),
    "resume": ("interrupted", "earlier"),
    "save": ("nothing", "other", "interrupted", "whole"),
}
STAGES = tuple(BEGINNINGS)


class WrongError(Exception):
    """What a kill must not leave behind."""


class Killed(NamedTuple):
    model: str
    stage: str
    outcome: str
    moment: str  # seconds after the child began, or which file operation
    about: str = ""


def content(folder: Path) -> dict[str, str]:
    """Digests of all files of a finished model, each of which is compared with its content."""
    stored = Stored.open(folder)
    for role in stored.manifest["files"]:
        stored.read(role)
    return {role: entry["digest"] for role, entry in stored.manifest["files"].items()}


def check_attributes(folder: Path, expected: Any) -> None:
    """That a loaded model has the topics, documents and chains of one and the same model."""
    model = topicloom.load(folder)
    same = model.fingerprint_ == expected.fingerprint_ and model.corpus_.fingerprint == expected.corpus_.fingerprint
    if not same or [c.sweep for c in model.chains_] != [c.sweep for c in expected.chains_]:
        raise WrongError("topics, documents and chains are not of one model")
    if hasattr(expected, "doc_topic_"):
        np.testing.assert_array_equal(model.doc_topic_, expected.doc_topic_)


def _quietly(act: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return act()


class Prepared:
    """What is needed to kill one kind of model: undisturbed models, and directories to start from."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder, self.case = name, folder, CASES[name]
        self.model = self.case.fit(0, checkpoint_dir=folder / "whole")
        self.other = self.case.fit(1)
        self.earlier = self.case.fit(0, max_iter=EARLIER)
        self.case.interrupted(folder / "interrupted")
        self.other.save(folder / "other")
        self.model.save(folder / "new")
        self.earlier.save(folder / "earlier")
        names = ("whole", "other", "new", "earlier")
        self.contents = {each: content(folder / each) for each in names}
        self.files = {each: files_in(folder / each) for each in names}
        self.seconds: dict[str, float] = {}

    def check(self, folder: Path, which: str, model: Any) -> None:
        if content(folder) != self.contents[which]:
            raise WrongError(f"not the bits of {which}")
        check_attributes(folder, model)

    # -- each stage: where it starts, what is killed, and what may be left

    def start(self, stage: str, begin: str, work: Path) -> Callable[[], Any]:
        if begin != "nothing":
            shutil.copytree(self.folder / begin, work)
        if stage == "fit":
            return lambda: self.case.fit(0, checkpoint_dir=work)
        if stage == "resume":
            return lambda: topicloom.resume(work, max_iter=SWEEPS)
        return lambda: (self.other if begin == "whole" else self.model).save(work)

    def judge(self, stage: str, begin: str, work: Path) -> str:
        """Which of the outcomes that are allowed this is; raises otherwise."""
        if not (work / MANIFEST).exists():
            outcome = self._judge_empty(begin, work)
        elif stage == "save":
            outcome = self._judge_save(begin, work)
        else:
            outcome = self._judge_run(begin, work)
        self.model.save(work)  # and the next save removes whatever was left
        self.check(work, "new", self.model)
        self._check_files(work, "new")
        return outcome

    def _check_files(self, work: Path, which: str) -> None:
        if files_in(work) != self.files[which]:
            raise WrongError(f"files are left over: {files_in(work)}")

    def _judge_empty(self, begin: str, work: Path) -> str:
        if begin != "nothing" or not is_free(work):
            raise WrongError(f"no manifest, but {os.listdir(work)}")
        self.case.fit(0, checkpoint_dir=work)
        self.check(work, "whole", self.model)
        self._check_files(work, "whole")
        return EMPTY

    def _judge_run(self, begin: str, work: Path) -> str:
        if Stored.open(work).running:
            self._resume(work, max_iter=SWEEPS)
        elif begin == "earlier" and content(work) == self.contents["earlier"]:
            check_attributes(work, self.earlier)
            return OLD
        self.check(work, "whole", self.model)
        return SAME

    def _resume(self, work: Path, **changes: Any) -> None:
        topicloom.resume(work, **changes)
        self.check(work, "whole", self.model)
        self._check_files(work, "whole")

    def _judge_save(self, begin: str, work: Path) -> str:
        old, new = ("whole", "other") if begin == "whole" else (begin, "new")
        if Stored.open(work).running:
            if begin != "interrupted":
                raise WrongError("a saved model has become a run")
            self._resume(work)  # the run that was there
            return OLD
        if content(work) == self.contents[new]:
            check_attributes(work, self.other if new == "other" else self.model)
            return NEW
        self.check(work, old, self.model if old == "whole" else self.other)
        return OLD


def kill(prepared: Prepared, stage: str, work: Path, rng: random.Random) -> Killed:
    """Do one stage in a child, kill it at a random moment, and judge what is left."""
    begin = rng.choice(BEGINNINGS[stage])
    key = f"{stage} {begin}"
    if key not in prepared.seconds:  # how long it takes when it is left alone
        aside = work.with_name(work.name + "-timed")
        prepared.seconds[key] = _seconds(prepared.start(stage, begin, aside))
        shutil.rmtree(aside)
    while True:
        moment = rng.uniform(0.0, prepared.seconds[key])
        child = _fork(prepared.start(stage, begin, work))
        time.sleep(moment)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if status != 0:
            return _judged(prepared, stage, begin, work, status, f"{moment:.3f} s")
        shutil.rmtree(work)  # it was done before: no kill


def kill_at_steps(prepared: Prepared, stage: str, begin: str, every: int, first: int) -> Iterator[Killed]:
    """Kill one stage before each of its file operations, or every so many of them, one after the other."""
    for step in itertools.count(first, every):
        work = prepared.folder / f"{stage} {begin} {step}"
        child = _fork(prepared.start(stage, begin, work), partial(_die_at_step, step, work))
        _, status = os.waitpid(child, 0)
        if status == 0:
            shutil.rmtree(work)
            return
        yield _judged(prepared, stage, begin, work, status, f"step {step}")


def _judged(prepared: Prepared, stage: str, begin: str, work: Path, status: int, moment: str) -> Killed:
    try:
        if status != signal.SIGKILL:
            raise WrongError(f"a stage ended by itself with status {status}")
        outcome, about = _quietly(lambda: prepared.judge(stage, begin, work)), begin
    except Exception as error:
        outcome, about = OTHER, f"{begin}: {type(error).__name__}: {error}"
    if outcome != OTHER:
        shutil.rmtree(work, ignore_errors=True)
    return Killed(prepared.name, stage, outcome, moment, about)


def _die_at_step(step: int, folder: Path) -> None:
    """Let this process be killed before its so many-th file operation in a folder."""
    steps = itertools.count()

    def look(event: str, arguments: tuple[Any, ...]) -> None:
        known = event in ("open", "os.rename", "os.remove", "os.mkdir")
        if known and str(arguments[0]).startswith(str(folder)) and next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(look)


def _fork(act: Callable[[], Any], before: Callable[[], Any] = lambda: None) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            before()
            _quietly(act)
            status = 0
        finally:
            os._exit(status)
    return child


def _seconds(act: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    _, status = os.waitpid(_fork(act), 0)
    if status != 0:
        raise WrongError("a stage fails even when it is left alone")
    return time.perf_counter() - begun


def prepare(name: str, folder: Path) -> Prepared:
    (folder / name).mkdir(parents=True)
    return _quietly(lambda: Prepared(name, folder / name))  # type: ignore[no-any-return]


def at_random(prepared: list[Prepared], n_kills: int, seed: int) -> Iterator[Killed]:
    """Kill each kind of model in each stage in turn."""
    rng = random.Random(seed)
    for n in range(n_kills):
        of = prepared[n // len(STAGES) % len(prepared)]
        yield kill(of, STAGES[n % len(STAGES)], of.folder / f"kill-{n}", rng)


def at_steps(prepared: list[Prepared], every: int) -> Iterator[Killed]:
    """Kill each kind of model in each stage, from each beginning, before every so many-th file operation."""
    first = itertools.cycle(range(every))
    for of in prepared:
        for stage, begins in BEGINNINGS.items():
            for begin in begins:
                yield from kill_at_steps(of, stage, begin, every, next(first))
