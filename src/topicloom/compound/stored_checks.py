"""What the files of models of collections must hold."""

import numpy as np

from topicloom.corpus._columns import restored_groups
from topicloom.files.checks import SCALARS, Contents, Expected, refusing
from topicloom.numerics.product import product

_COLLECTIONS = {
    "collection_docs": Expected("i", ("J",), low=1),
    "pi": Expected("f8", ("J", "K"), low=0, high=1 + 1e-6),
    "pi_sweeps": Expected("i", ("S",), low=0),
    "pi_draws": Expected("f8", ("S", "J", "K"), low=0, high=1 + 1e-6),
    "gamma": Expected("f8", (1,), positive=True),
    "collection_prior": Expected("f8", ("K",), positive=True),
}


def check_collections(file: Contents) -> None:
    arrays = file.arrays
    with refusing(file.path):
        restored_groups(file.values("collections", "J", (*SCALARS, dict)))
    file.expect(_COLLECTIONS)
    if file.sizes["S"] == 0 or arrays["collection_docs"].sum() != file.sizes["D"]:
        file.fail("the array 'collection_docs' does not count the documents, or there is no draw in 'pi_draws'")
    for name in ("pi", "pi_draws"):
        file.sums_to(name, arrays[name].sum(axis=-1), 1.0)
    weights = arrays["collection_docs"] / arrays["collection_docs"].sum()
    file.sums_to("alpha", arrays["alpha"], arrays["gamma"][0] * product(weights[None], arrays["pi"])[0])
    if np.any(np.diff(arrays["pi_sweeps"]) < 0) or arrays["pi_sweeps"][-1] > file.info["n_iter"]:
        file.fail("the array 'pi_sweeps' does not rise to the last sweep")
