"""The state that MALLET wrote, which several tests compare with."""

from pathlib import Path

import numpy as np

from topicloom.corpus.corpus import Corpus
from topicloom.engine.prior import make_prior
from topicloom.engine.state import rebuild_counts
from topicloom.mallet import MalletState

FIXTURES = Path(__file__).parents[1] / "fixtures" / "mallet"


def mallet_state() -> MalletState:
    """Corpus, topics of all tokens, and priors."""
    with np.load(FIXTURES / "state.npz") as file:
        vocabulary = file["vocabulary"].tobytes().decode().split("\n")
        doc_ptr = np.concatenate(([0], np.cumsum(file["lengths"], dtype=np.int64)))
        corpus = Corpus(file["words"].astype(np.int32), doc_ptr, tuple(vocabulary), ordered=True)
        z = file["topics"]
    prior = make_prior(np.full(10, 0.1), np.full(corpus.n_words, 0.01), corpus.n_docs)
    return MalletState(corpus, rebuild_counts(corpus, z, 10), prior)
