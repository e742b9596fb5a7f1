"""Sweeps by a kernel's source as it stands or with changes, without the package's own loop around them."""

import re
from typing import Any

import numpy as np
import pytest

from topicloom.corpus import Corpus
from topicloom.engine.prior import Prior
from topicloom.engine.state import State
from topicloom.lda.gibbs import by_word, dense, sparse, topic_lines


def undecorated(source: str, instead: str = "") -> str:
    """A module's source without the lines that say how its functions are compiled, nor those that register a sampler.

    So the package's own sampler stays the one that goes by its name.
    """
    source = re.sub(r"^register\(.*\)\n", "", source, flags=re.MULTILINE)
    assert not re.search(r"^register\(", source, flags=re.MULTILINE), "a mutant would take its sampler's name"
    return re.sub(r"^@(kernel|reducing_kernel|bare_kernel|step)\n", instead, source, flags=re.MULTILINE)


def plain_steps(names: dict[str, Any]) -> dict[str, Any]:
    """The names that stand for steps, which are made to be compiled into kernels, as plain Python."""
    return {n: f.py_func for n, f in names.items() if getattr(f, "targetoptions", {}).get("_nrt") is False}


def sweep_once(sweep_block, corpus: Corpus, state, prior: Prior, rng: np.ndarray) -> None:
    """One sweep by a kernel over all documents and words."""
    docs, words = (0, corpus.n_docs), (0, corpus.n_words)
    if isinstance(state, State):
        dense.make_draw(corpus, words, prior, sweep_block)(docs, state, rng)
        return
    names = getattr(sweep_block, "py_func", sweep_block).__globals__  # a mutant may have blocks of another size
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topic_lines, "BLOCK", names["BLOCK"])
        if sweep_block.__name__ == "sweep_words":
            by_word.sweep_block(corpus, docs, words, state, prior, rng, sweep_block)
        else:
            sparse.make_draw(corpus, words, prior, sweep_block)(docs, state, rng)
