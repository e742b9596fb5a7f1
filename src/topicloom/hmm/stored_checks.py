"""What the files of hidden Markov models must hold."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from topicloom._types import AnyArray
from topicloom.corpus.corpus import Corpus
from topicloom.engine.checks import STATES
from topicloom.engine.estimator.stored_checks import check_chains
from topicloom.errors import StorageError
from topicloom.files.checks import SCALARS, Contents, Expected
from topicloom.hmm.emissions.gaussian_full import check_covariances


def check_hmm_model(path: Path, arrays: Mapping[str, AnyArray], info: Any, n_states: Any, kind: str) -> None:
    file = Contents(path, arrays, info, K=n_states)
    check_chains(file, STATES)
    file.flags("converged")
    symbols = file.values("alphabet", "V" if kind == "categorical" else 0, SCALARS)
    if kind == "categorical" and not symbols:
        file.fail("the array 'alphabet' has no symbols")
    rows = {"initial": ("K",), "transition": ("K", "K")}
    if kind in ("categorical", "multinomial"):
        rows["emission"] = ("K", "V")
    file.expect({name: Expected("f8", shape, low=0, high=1 + 1e-6) for name, shape in rows.items()})
    for name in rows:
        file.sums_to(name, arrays[name].sum(axis=-1), 1.0)
    if kind == "poisson":
        file.expect({"rates": Expected("f8", ("K", "F"), positive=True)})
    elif kind == "gaussian":
        file.expect({"means": Expected("f8", ("K", "F")), "covars": Expected("f8", ("K", "F"), positive=True)})
    elif kind == "gaussian_full":
        file.expect({"means": Expected("f8", ("K", "F")), "covars": Expected("f8", ("K", "F", "F"))})
        check_covariances(file, arrays["covars"])
    file.expect_no_others()


def check_sequences(path: Path, corpus: Corpus, n_symbols: int) -> None:
    """Whether a hidden Markov model can have been fitted on a corpus."""
    lacks = corpus.n_words == n_symbols + 1 and bool(np.any(corpus.words == n_symbols))  # one more is a missing one
    right = corpus.n_words == n_symbols or lacks
    if not right or not corpus.ordered or corpus.weights is not None or corpus.n_tokens == 0:
        raise StorageError(
            f"{path} belongs to another model: it does not hold sequences over {n_symbols} symbols. Restore it from a "
            "copy."
        )


def check_numbers(
    path: Path, arrays: Mapping[str, AnyArray], info: Any, corpus: Corpus, n_features: int | None
) -> None:
    """Whether a file has a row of numbers for each place of the sequences, as many as the model has seen."""
    file = Contents(path, arrays, info, N=corpus.n_tokens, F=n_features)
    file.expect({"values": Expected("f8", ("N", "F"), low=-1e100, high=1e100, finite=False)})
    if file.sizes["F"] == 0:
        file.fail("the array 'values' has no features")
    file.expect_no_others()
