"""What the file of a fitted hierarchical Dirichlet process must hold."""

import numpy as np

from topicloom.files.checks import Contents, Expected
from topicloom.hdp.state import DOC, REST


def check_level(file: Contents) -> None:
    """The rest's weight and two concentrations, which the topics' weights add up to."""
    file.expect({"level": Expected("f8", (3,), low=0)})
    level = file.arrays["level"]
    if np.any(level[DOC:] <= 0):
        file.fail("the array 'level' has a concentration that is not positive")
    file.sums_to("level", file.arrays["alpha"].sum() + level[REST], level[DOC])
