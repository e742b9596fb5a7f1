"""``{command-help} COMMAND`` shows the help that the program itself prints, so that pages cannot differ from it."""

import os
import subprocess
import sys
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

_WIDTH = 100


class CommandHelp(SphinxDirective):
    """The help of one command, or of the program if none is named."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        command = [sys.executable, "-c", "from topicloom.cli import main; main()", *self.arguments, "--help"]
        plain = {"COLUMNS": str(_WIDTH), "TERM": "dumb", "NO_COLOR": "1", "TERMINAL_WIDTH": str(_WIDTH)}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **plain})
        text = "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())
        block = nodes.literal_block(text, text)
        block["language"] = "text"
        return [block]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True}
