"""A limit of memory ends in an error of ours, before libraries that end the process run into it."""

import subprocess
import sys

import pytest

from topicloom import _limits
from topicloom.errors import MemoryLimitError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")

LIMIT = """
import resource, sys
def limit(room):
    taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + (room << 20),) * 2)
"""
FIT = "topicloom.LDA(2, max_iter=1, random_state=0).fit(numpy.array([[1, 2], [3, 1]]))"
CASES = {
    "nothing imported": "limit(60); import topicloom; topicloom.LDA",
    "no room for Numba": f"import numpy; limit(60); import topicloom; {FIT}",
    "no room for SciPy": f"import numpy; limit(250); import topicloom; {FIT}",
    "no room for kernels": f"import numpy, topicloom; topicloom.LDA; limit(20); {FIT}",
    "on the command line": "import numpy, topicloom.cli; limit(60); sys.argv[1:] = ['warmup']; topicloom.cli.main()",
}


@pytest.mark.parametrize("case", CASES)
def test_a_limit_is_named(case: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMIT + CASES[case]], capture_output=True, text=True, check=False, timeout=60
    )
    last = done.stderr.splitlines()[-1]
    if case == "on the command line":
        assert done.returncode == 2
        assert last.startswith("topicloom: Importing topicloom needs some 320 MB of address space")
    else:
        assert done.returncode == 1
        assert last.startswith("topicloom.errors.MemoryLimitError: ")
    assert "MB of address space, and the limit of this process leaves" in last
    assert "ulimit -v" in last


def test_other_errors_of_imports_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ImportError, match="typo"), _limits.importing():
        raise ImportError("typo")
    monkeypatch.setattr(_limits, "room", lambda: 1 << 40)
    with pytest.raises(ImportError, match="typo"), _limits.importing():
        raise ImportError("typo")
    monkeypatch.setattr(_limits, "room", lambda: 100 << 20)
    with pytest.raises(MemoryLimitError, match="leaves 100 MB"), _limits.importing():
        raise ImportError("failed to map segment")


def test_compiling_needs_more_than_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_limits, "room", lambda: 100 << 20)
    _limits.require(_limits.LOADING, "Loading compiled code")
    with pytest.raises(MemoryLimitError, match="Compiling a kernel needs some 128 MB"):
        _limits.require(_limits.COMPILING, "Compiling a kernel")
