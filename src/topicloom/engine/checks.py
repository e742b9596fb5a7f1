"""What the file of a chain must hold: arrays that fit each other, the corpus and the model."""

from typing import NamedTuple

import numpy as np

from topicloom._types import Int32Array
from topicloom.corpus.corpus import Corpus
from topicloom.engine.state import topic_dtype
from topicloom.files.checks import Contents, Expected

LARGEST_PRIOR = 1e15  # all parameters of a document or word together; models take 1e12 for each
ROUNDING = 1e-3  # by which sums of very many or of single-precision numbers may be off

_PRIOR = {  # as ``prior.Prior``
    "alpha": Expected("f8", ("R", "K"), high=LARGEST_PRIOR, positive=True),
    "alpha_row": Expected("i4", ("D",), low=0),
    "beta": Expected("f8", ("V",), high=LARGEST_PRIOR, positive=True),
    "beta_sum": Expected("f8", ("K",), positive=True),
    "boost_row": Expected("i4", ("V",), low=-1),
    "boost": Expected("f8", ("B", "K"), low=0),
}
_TRACE = {  # one entry for each recorded sweep
    "sweep": Expected("i", ("T",), low=1),
    "changed": Expected("i", ("T",), low=0),
}
_SOME_TRACES = {  # the same, or none
    "alpha_sum": Expected("f", ("T of alpha_sum",), positive=True, optional=True),
    "beta_mean": Expected("f", ("T of beta_mean",), positive=True, optional=True),
    "agreement": Expected("f", ("T of agreement",), low=0, high=1, optional=True),
    "acceptance": Expected("f", ("T of acceptance",), low=0, high=1, optional=True),
    "log_likelihood": Expected("f", ("T of log_likelihood",), finite=False, optional=True),
    "change": Expected("f", ("T of change",), low=0, optional=True),
    "n_topics": Expected("i", ("T of n_topics",), low=1, high=1 << 16, optional=True),
    "n_main": Expected("i", ("T of n_main",), low=1, high=1 << 16, optional=True),
    "topic_concentration": Expected("f", ("T of topic_concentration",), positive=True, optional=True),
    "tokens": Expected("f", ("T of tokens",), low=0, optional=True),
    "words": Expected("i", ("T of words",), low=0, optional=True),
    "score": Expected("f", ("T of score",), high=0, finite=False, optional=True),
}


class Recorded(NamedTuple):
    """What the traces of a kind of chain have, beside sweeps, values and changes."""

    names: tuple[str, ...] = ("alpha_sum", "beta_mean")
    finite: bool = True  # whether log_joint is a number; a bound need not exist
    lowest: float = 0.0  # of what chains are compared by


TOPICS = Recorded()
SUPERVISED = Recorded(lowest=-LARGEST_PRIOR)
VARIATIONAL = Recorded((*TOPICS.names, "change"), finite=False)
STATES = Recorded(("agreement",), finite=False)
PROCESS = Recorded((*TOPICS.names, "n_topics", "n_main", "topic_concentration"))


def check_trace(file: Contents, recorded: Recorded, prefix: str = "trace_") -> None:
    """Whether a trace has one entry for each recorded sweep."""
    for name in [name for name in file.sizes if name[0] == "T"]:
        del file.sizes[name]  # of the trace before this one
    file.expect(_TRACE | {"log_joint": Expected("f", ("T",), finite=recorded.finite)}, prefix)
    file.expect(_SOME_TRACES, prefix)
    nothing_yet = file.sizes["T"] == 0  # what few models record is then left out
    own = {name: _SOME_TRACES[name]._replace(shape=("T",), optional=nothing_yet) for name in recorded.names}
    file.expect(own, prefix)
    several = {  # numbers per record; earlier versions have none
        "probes": Expected("f8", ("T", "T probes"), low=recorded.lowest, high=LARGEST_PRIOR, optional=True),
        "topic_sizes": Expected("i8", ("T", "T topics"), low=0, high=1 << 50, optional=True),
    }
    file.expect(several, prefix)
    compared = file.arrays.get(f"{prefix}probes")
    if compared is not None and np.any(compared[:, :1] < 0):  # only what a supervised model adds may be
        file.fail(f"the array {prefix + 'probes'!r} has negative numbers")
    sizes = file.arrays.get(f"{prefix}topic_sizes")
    if sizes is not None and np.any(sizes.sum(axis=1) != sizes[:1].sum()):
        file.fail(f"the array {prefix + 'topic_sizes'!r} has records with different numbers of tokens")
    sweeps = file.arrays[f"{prefix}sweep"]
    if np.any(np.diff(sweeps) <= 0):
        file.fail(f"the array {prefix + 'sweep'!r} does not rise")
    for name in _SOME_TRACES:
        if file.sizes.get(f"T of {name}", 0) not in (0, len(sweeps)):
            file.fail(f"the array {prefix + name!r} has another length than the trace")


def check_sweep(file: Contents, index: int, recorded: Recorded, *, converges: bool) -> None:
    """Whether it is the chain that was asked for, and all that it has recorded came before its last sweep."""
    if file.whole("index") != index:
        file.fail(f"it holds chain {file.info['index']}, expected chain {index}")
    sweep = file.whole("sweep")
    if converges or "converged" in file.info:  # which earlier versions wrote only where it may be
        file.flags("converged")
    if not converges and file.info.get("converged"):
        file.fail("it says that the chain has converged, which is not known of chains of its kind")
    check_trace(file, recorded)
    if np.any(file.arrays["trace_sweep"] > sweep):
        file.fail(f"its trace goes beyond sweep {sweep}, where the chain is")


def check_prior(file: Contents, rows: Int32Array | None = None) -> None:
    """A prior of topics; ``rows`` has the row of α of each document, where there are several."""
    file.expect(_PRIOR)
    arrays, sizes = file.arrays, file.sizes
    if sizes["R"] != (1 if rows is None else int(rows.max()) + 1):
        file.fail(f"the array 'alpha' has {sizes['R']} rows, which is not the number of collections")
    expected = np.zeros(sizes["D"], np.int32) if rows is None else rows
    file.equals("alpha_row", expected, "the documents' collections")
    used = arrays["boost_row"][arrays["boost_row"] >= 0]
    if not np.array_equal(np.sort(used), np.arange(sizes["B"])):
        file.fail("the array 'boost_row' does not name every row of 'boost' once")
    file.sums_to("beta", arrays["beta"].sum() + arrays["boost"].sum(axis=0), arrays["beta_sum"])


def check_tokens(file: Contents) -> None:
    """One topic for each token."""
    file.expect({"z": Expected(stored_topics(file.sizes["K"]), ("N",), low=0, high=file.sizes["K"] - 1)})


def stored_topics(n_topics: int) -> str:
    return np.dtype(topic_dtype(n_topics)).str[1:]


def check_kept(file: Contents, corpus: Corpus, doc: tuple[str | int, ...] = ("D", "K")) -> int:
    """Sums of counts over samples, each of which has every token once; returns the number of samples."""
    n_kept = file.whole("kept", high=file.whole("sweep"))
    if n_kept:
        file.expect({"kept_doc": Expected("f8", doc, low=0), "kept_word": Expected("f8", ("V", "K"), low=0)})
        mass = n_kept * float(corpus.n_tokens if corpus.weights is None else corpus.weights.sum())
        for name in ("kept_doc", "kept_word"):
            file.sums_to(name, file.arrays[name].sum(), mass, ROUNDING)
    return n_kept


def check_topics(file: Contents, corpus: Corpus, index: int) -> None:
    """A checkpoint of a sampler of LDA."""
    check_prior(file)
    check_tokens(file)
    check_kept(file, corpus)
