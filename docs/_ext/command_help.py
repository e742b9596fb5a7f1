"""``{command-help} COMMAND`` shows the help that the program itself prints, so that pages cannot differ from it."""

import os
import re
import subprocess
import sys
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

_WIDTH = 78


class CommandHelp(SphinxDirective):
    """The help of one command, or of the program if none is named."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        command = [sys.executable, "-c", "from topicloom.cli import main; main()", *self.arguments, "--help"]
        plain = {"COLUMNS": str(_WIDTH), "TERM": "dumb", "NO_COLOR": "1", "TERMINAL_WIDTH": str(_WIDTH)}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **plain})
        text = without_boxes(done.stdout)
        block = nodes.literal_block(text, text)
        block["language"] = "text"
        return [block]


def without_boxes(shown: str) -> str:
    """Help as plain text: groups of options with their name above them, in place of boxes; switches take no value."""
    lines = []
    for line in shown.strip().splitlines():
        if title := re.match(r"╭─ (.+?) ─*╮$", line):
            lines += [title[1]]
        elif row := re.match(r"│ (.*)│$", line):
            lines += ["  " + row[1].replace("<bool>", " " * len("<bool>"))]
        elif line.startswith("╰"):
            lines += [""]
        else:
            lines += [line.removeprefix(" ")]
    text = "\n".join(line.rstrip() for line in lines).strip()
    return re.sub(r"\n{3,}", "\n\n", text)


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True}
