"""Methods of a fitted model that are written on a floor above: the one place where the engine names one.

Nothing is imported until such a method is called, and nothing of it is used to fit. So the engine runs without the
package, and a package above may import the engine.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

_HOME = {"explore": "topicloom.explore"}  # method: the module that has a function of its name


def above(method: str) -> Any:
    """The function of a floor above that a method stands for; the model is its first argument."""
    return getattr(import_module(_HOME[method]), method)


class Explored:
    """What every fitted model has from above."""

    def explore(self, path: Any, **options: Any) -> Path:
        """Write the model as one HTML file to look at, which needs no network.

        Parameters
        ----------
        path : str or path
            The file to write. One that is there is replaced.
        **options
            As of :func:`topicloom.explore.explore`: ``texts``, ``documents``, ``text_length``, ``title``, ``level`` and
            ``held_out``.

        Returns
        -------
        Path
            The file that was written.

        Examples
        --------
        >>> import os, tempfile
        >>> from topicloom import LDA
        >>> model = LDA(2, max_iter=10, random_state=0).fit(["river boat", "money bank"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.explore(os.path.join(folder, "topics.html"), title="Two topics").name
        'topics.html'
        """
        check_is_fitted(self, "seed_")
        page: Path = above("explore")(self, path, **options)
        return page
