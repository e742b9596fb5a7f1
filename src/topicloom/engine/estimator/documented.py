"""Docstrings of models that share parameters: each class lists all of its own, and what is shared is written once."""

import inspect
from collections.abc import Callable
from typing import TypeVar

C = TypeVar("C", bound=type)

RUN = """
trace_every : int, default=10
    Sweeps between records of the joint probability.
checkpoint_dir : str or Path, optional
    A new or empty directory. The run is saved there, and the model when it is finished.
checkpoint_every : int, default=50
    Sweeps between checkpoints.
n_jobs : int, optional
    Threads. They change no result. None and -1 use all processors of this process. None uses fewer where
    ``joblib.parallel_config`` or OMP_NUM_THREADS say so, and one in a worker of joblib.
random_state : int or numpy.random.RandomState, optional
    The seed. None draws one, which is then in ``seed_``.
verbose : int, default=0
    1 shows progress.
"""

CHAINS = """
chains_ : list of Chain
    The chains with their last states.
best_chain_ : int
    Number of the published chain: the one with the highest joint probability.
log_joint_ : ndarray of shape (n_chains,)
    Last joint log probability of each chain.
traces_ : tuple of Trace
    What was recorded along each chain. ``trace_`` is that of the published one.
draws_ : dict
    Arrays of shape (n_chains, n_draws, ...) by name, as ``keep_draws`` asked for, in single precision.
n_iter_ : int
    Sweeps that were made.
interrupted_ : bool
    Whether the fit was stopped before its end.
seed_ : int
    The seed that was used.
fingerprint_ : str
    Digest of all fitted numbers: equal fits have equal ones.
"""

TOPICS = """
components_ : ndarray of shape (n_topics, n_words)
    Expected counts of words plus β.
topic_word_ : ndarray of shape (n_topics, n_words)
    φ: the words of each topic. Rows of ``components_`` that sum to 1.
doc_topic_ : ndarray of shape (n_documents, n_topics)
    θ of the training documents.
alpha_ : ndarray of shape (n_topics,)
    α, the prior of new documents' topics.
beta_ : ndarray of shape (n_words,)
    β, the prior of the words of topics.
vocabulary_ : tuple of str
    The words, in the order of columns.
empty_docs_ : ndarray of bool, shape (n_documents,)
    Training documents without words.
"""


def documented(**parts: str) -> Callable[[C], C]:
    """For a class whose docstring has lines ``{name}``: the part of that name takes its place.

    Parameters
    ----------
    **parts : str
        Entries of the docstring by name.

    Returns
    -------
    Callable
        A decorator of classes.
    """

    def complete(cls: C) -> C:
        if cls.__doc__ is not None:  # as it is with python -OO
            text = inspect.cleandoc(cls.__doc__)
            for name, part in parts.items():
                text = text.replace(f"{{{name}}}", part.strip())
            cls.__doc__ = text
        return cls

    return complete
