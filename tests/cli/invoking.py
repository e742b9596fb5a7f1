"""What the tests of commands on texts have in common."""

from collections.abc import Callable

from typer.testing import Result

THEMES = ["river water fish boat", "money loan credit rate", "goal match team cup"]
PLAIN = {"COLUMNS": "100", "FORCE_COLOR": None, "PY_COLORS": None, "GITHUB_ACTIONS": None}
Run = Callable[..., Result]
