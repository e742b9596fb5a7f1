"""Methods of a fitted model that are written on a floor above: the one place where the engine names one.

Nothing is imported until such a method is called, and nothing of it is used to fit. So the engine runs without the
package, and a package above may import the engine.
"""

from importlib import import_module
from typing import Any

_HOME = {"explore": "topicloom.explore"}  # method: the module that has a function of its name


def above(method: str) -> Any:
    """The function of a floor above that a method stands for; the model is its first argument."""
    return getattr(import_module(_HOME[method]), method)
