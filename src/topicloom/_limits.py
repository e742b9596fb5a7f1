"""What the process may still take of memory, where the system limits it (``ulimit -v``, ``RLIMIT_AS``).

Numba and LLVM end a process that runs into the limit, or hang, so room is asked for before they are called.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from topicloom.errors import MemoryLimitError

MEGABYTE = 1 << 20
ARRAYS = 128 * MEGABYTE  # NumPy, which ends the process if it gets less
LIBRARIES = 320 * MEGABYTE  # Numba with LLVM, and SciPy, on top of it
COMPILING = 128 * MEGABYTE
LOADING = 48 * MEGABYTE  # compiled code from disk


def room() -> int | None:
    """Bytes of address space that are left; None if there is no limit, or none that can be known."""
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most == resource.RLIM_INFINITY:
            return None
        with open("/proc/self/statm", "rb") as file:
            return int(most - int(file.read().split()[0]) * resource.getpagesize())
    except (ImportError, AttributeError, OSError):
        return None


def require(need: int, purpose: str) -> None:
    """Raise if the limit leaves less than ``need`` bytes."""
    left = room()
    if left is not None and left < need:
        raise MemoryLimitError(_message(need, purpose, left))


@contextmanager
def importing() -> Iterator[None]:
    """For our own imports: what fails because of the limit fails in many ways, and is raised as one."""
    purpose = "Importing topicloom"
    if "numpy" not in sys.modules:
        require(ARRAYS, purpose)
    try:
        yield
    except (ImportError, SystemError, MemoryError, OSError) as error:
        left = room()
        if isinstance(error, MemoryLimitError) or left is None or left >= LIBRARIES:
            raise
        raise MemoryLimitError(_message(LIBRARIES, purpose, left)) from error


def _message(need: int, purpose: str, left: int) -> str:
    return (
        f"{purpose} needs some {need // MEGABYTE} MB of address space, and the limit of this process leaves "
        f"{max(left, 0) // MEGABYTE} MB. Raise the limit (ulimit -v, RLIMIT_AS) to at least 1 GB, or remove it."
    )
