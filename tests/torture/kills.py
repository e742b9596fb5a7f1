"""Fits, resumes and saves that are killed at random moments, and what each leaves behind.

Children are forked from one process that has all code compiled, so that a kill takes a fraction of a second.
"""

import os
import random
import shutil
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tests.saved import files_in
from tests.torture.cases import CASES, EARLIER, SWEEPS

import topicloom
from topicloom.directories import Stored, is_free
from topicloom.manifests import MANIFEST

SAME, OLD, NEW, EMPTY, OTHER = "same bits", "old model", "new model", "empty", "OTHER"
OUTCOMES = (SAME, OLD, NEW, EMPTY, OTHER)
STAGES = ("fit", "resume", "save")


class WrongError(Exception):
    """What a kill must not leave behind."""


class Killed(NamedTuple):
    model: str
    stage: str
    outcome: str
    moment: float  # seconds after the child began
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

    def start(self, stage: str, work: Path, rng: random.Random) -> tuple[str, Callable[[], Any]]:
        if stage == "fit":
            return "new", lambda: self.case.fit(0, checkpoint_dir=work)
        if stage == "resume":
            begin = rng.choice(["interrupted", "earlier"])
            shutil.copytree(self.folder / begin, work)
            return begin, lambda: topicloom.resume(work, max_iter=SWEEPS)
        begin = rng.choice(["nothing", "other", "other", "interrupted", "whole"])
        if begin != "nothing":
            shutil.copytree(self.folder / begin, work)
        new = self.other if begin == "whole" else self.model
        return begin, lambda: new.save(work)

    def judge(self, stage: str, begin: str, work: Path) -> str:
        """Which of the outcomes that are allowed this is; raises otherwise."""
        if not (work / MANIFEST).exists():
            return self._judge_empty(begin, work)
        if stage == "save":
            return self._judge_save(begin, work)
        if stage == "resume" and begin == "earlier" and not Stored.open(work).running:
            if content(work) == self.contents["earlier"]:
                check_attributes(work, self.earlier)
                return OLD
        elif Stored.open(work).running:
            topicloom.resume(work, max_iter=SWEEPS)
        self._check_whole(work)
        return SAME

    def _check_whole(self, work: Path) -> None:
        self.check(work, "whole", self.model)
        if files_in(work) != self.files["whole"]:
            raise WrongError(f"files are left over: {files_in(work)}")

    def _judge_empty(self, begin: str, work: Path) -> str:
        if begin not in ("new", "nothing") or not is_free(work):
            raise WrongError(f"no manifest, but {os.listdir(work)}")
        self.case.fit(0, checkpoint_dir=work)
        self._check_whole(work)
        return EMPTY

    def _judge_save(self, begin: str, work: Path) -> str:
        old, new = ("whole", "other") if begin == "whole" else (begin, "new")
        if Stored.open(work).running:
            if begin != "interrupted":
                raise WrongError("a saved model has become a run")
            outcome = OLD  # the run that was there, which can still be resumed
            topicloom.resume(work)
            self._check_whole(work)
        elif content(work) == self.contents[new]:
            outcome = NEW
            check_attributes(work, self.other if new == "other" else self.model)
        else:
            outcome = OLD
            self.check(work, old, self.model if old == "whole" else self.other)
        self.model.save(work)  # and the next save removes whatever was left
        self.check(work, "new", self.model)
        if files_in(work) != self.files["new"]:
            raise WrongError(f"files are left over: {files_in(work)}")
        return outcome


def kill(prepared: Prepared, stage: str, work: Path, rng: random.Random) -> Killed:
    """Do one stage in a child, kill it at a random moment, and judge what is left."""
    begin, act = prepared.start(stage, work, rng)
    key = f"{stage} {begin}"
    if key not in prepared.seconds:  # how long it takes when it is left alone
        aside = work.with_name(work.name + "-timed")
        other, timed = prepared.start(stage, aside, random.Random(rng.random()))
        while other != begin:
            shutil.rmtree(aside, ignore_errors=True)
            other, timed = prepared.start(stage, aside, random.Random(rng.random()))
        prepared.seconds[key] = _seconds(timed)
        shutil.rmtree(aside)
    moment = rng.uniform(0.0, 1.1 * prepared.seconds[key])
    child = _fork(act)
    time.sleep(moment)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    try:
        outcome, about = _quietly(lambda: prepared.judge(stage, begin, work)), begin
    except Exception as error:
        outcome, about = OTHER, f"{begin}: {type(error).__name__}: {error}"
    if outcome != OTHER:
        shutil.rmtree(work, ignore_errors=True)
    return Killed(prepared.name, stage, outcome, moment, about)


def _fork(act: Callable[[], Any]) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        try:
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


def torture(n_kills: int, seed: int, folder: Path, tell: Callable[[str], object], names: list[str]) -> list[Killed]:
    """Kill each kind of model in each stage in turn."""
    rng = random.Random(seed)
    prepared: dict[str, Prepared] = {}
    killed = []
    for n in range(n_kills):
        name, stage = names[n // len(STAGES) % len(names)], STAGES[n % len(STAGES)]
        if name not in prepared:
            (folder / name).mkdir(parents=True)
            prepared[name] = _quietly(lambda name=name: Prepared(name, folder / name))
        found = kill(prepared[name], stage, folder / name / f"kill-{n}", rng)
        if found.outcome == OTHER:
            tell(f"{name}, {stage}, {found.moment:.3f} s: {found.about} (left in {folder / name / f'kill-{n}'})")
        killed.append(found)
    return killed
