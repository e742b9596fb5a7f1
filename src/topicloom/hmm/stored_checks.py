"""What the files of hidden Markov models must hold."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from topicloom._types import AnyArray
from topicloom.corpus.corpus import Corpus
from topicloom.engine.checks import STATES
from topicloom.engine.estimator.stored_checks import check_chains
from topicloom.errors import StorageError
from topicloom.files.checks import SCALARS, Contents, Expected


def check_hmm_model(path: Path, arrays: Mapping[str, AnyArray], info: Any, n_states: Any) -> None:
    file = Contents(path, arrays, info, K=n_states)
    check_chains(file, STATES)
    file.flags("converged")
    file.values("alphabet", "V", SCALARS)
    rows = {"initial": ("K",), "transition": ("K", "K"), "emission": ("K", "V")}
    file.expect({name: Expected("f8", shape, low=0, high=1 + 1e-6) for name, shape in rows.items()})
    for name in rows:
        file.sums_to(name, arrays[name].sum(axis=-1), 1.0)
    file.expect_no_others()


def check_sequences(path: Path, corpus: Corpus, n_symbols: int) -> None:
    """Whether a hidden Markov model can have been fitted on a corpus."""
    if corpus.n_words != n_symbols or not corpus.ordered or corpus.weights is not None or corpus.n_tokens == 0:
        raise StorageError(
            f"{path} belongs to another model: it does not hold sequences over {n_symbols} symbols. Restore it from a "
            "copy."
        )
