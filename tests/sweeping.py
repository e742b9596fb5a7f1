"""Sweeps by a kernel's source as it stands or with changes, without the package's own loop around them."""

import re
from typing import Any

import numpy as np

from topicloom.corpus import Corpus
from topicloom.inference.kernel import Prior
from topicloom.inference.long_words import keep, new_rows, part_of
from topicloom.inference.samplers import dense_scratch, sweep_lists
from topicloom.inference.state import State
from topicloom.kernels import long_words


def undecorated(source: str, instead: str = "") -> str:
    """A kernels' module's source without the lines that say how its functions are compiled."""
    return re.sub(r"^@(kernel|reducing_kernel|bare_kernel|step)\n", instead, source, flags=re.MULTILINE)


def plain_steps(names: dict[str, Any]) -> dict[str, Any]:
    """The names that stand for steps, which are made to be compiled into kernels, as plain Python."""
    return {n: f.py_func for n, f in names.items() if getattr(f, "targetoptions", {}).get("_nrt") is False}


def sweep_once(sweep_block, corpus: Corpus, state, prior: Prior, rng: np.ndarray, long: bool = False) -> None:
    """One sweep by a kernel over all documents and words; by lists, with all words long or none."""
    everything = (0, corpus.n_docs), (0, corpus.n_words)
    if isinstance(state, State):
        scratch = *dense_scratch(prior), rng, np.zeros(2, np.int64)
        sweep_block(*everything[0], *everything[1], corpus.words, corpus.doc_ptr, *state, *prior, *scratch)
        return
    rows = new_rows(prior, np.flatnonzero(prior.boost_row < 0).astype(np.int32)[: None if long else 0])
    long_words.fill_rows(rows.words, rows.rows, *state[1:4])
    own_names = getattr(sweep_block, "py_func", sweep_block).__globals__  # a mutant may have blocks of another size
    topics = keep(state.topic, prior)._replace(blocks=np.zeros(own_names["n_blocks"](prior.n_topics)))
    part = part_of(rows, everything[1], state, topics)
    sweep_lists(corpus, *everything, state, prior, part, topics, rng, sweep_block)
    long_words.renew_lists(*everything[1], rows.words, rows.rows, *state[1:4])
