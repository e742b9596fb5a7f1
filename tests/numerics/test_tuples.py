"""Compiled functions take whole tuples of arrays and write into these arrays: no write may be lost.

``tests/lda/test_conditionals.py`` sees it if one is: what takes a token out of the counts puts it back.
"""

import re
from pathlib import Path

import topicloom

COMPILED = re.compile(r"^@(?:kernel|bare_kernel|reducing_kernel|step)\n(def .*?)(?=^[@\w])", re.MULTILINE | re.DOTALL)


def test_nothing_is_compiled_so_that_writes_could_be_lost() -> None:
    """Numba drops writes as dead code only after it has inlined an overload: ours, or its own of ``bool``."""
    n_compiled = 0
    for path in Path(topicloom.__file__).parent.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"@overload\w*\([^)]*inline=", source), path
        for function in COMPILED.findall(source):
            n_compiled += 1
            assert "bool(" not in function, (path, function[:60])
    assert n_compiled > 100
