"""A reader that loads a model again and again while another process saves two models in turn over it."""

import os
import signal
import time
from pathlib import Path

import numpy as np

import topicloom
from tests.torture.cases import CASES
from topicloom.errors import StorageError


def read_during_saves(name: str, folder: Path, seconds: float) -> dict[str, int]:
    """How often a model was read whole, how often it was told that it had been saved over, and how often mixed."""
    models = [CASES[name].fit(seed) for seed in (0, 1)]
    models[0].save(folder)
    known = {model.fingerprint_: model for model in models}
    found = {"loaded": 0, "whole": 0, "saved over": 0, "mixed": 0}
    child = os.fork()
    if child == 0:
        try:
            while True:
                for model in reversed(models):
                    model.save(folder)
        finally:
            os._exit(1)
    try:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            model = topicloom.load(folder)  # always works
            found["loaded"] += 1
            expected = known[model.fingerprint_]
            try:
                same = model.corpus_.fingerprint == expected.corpus_.fingerprint
                if hasattr(expected, "doc_topic_"):
                    same = same and np.array_equal(model.doc_topic_, expected.doc_topic_)
                found["whole" if same else "mixed"] += 1
            except StorageError as error:
                if "saved over" not in str(error):
                    raise
                found["saved over"] += 1
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return found
