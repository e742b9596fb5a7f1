"""The csv module's reader for fields of any length.

The module refuses fields above 128 KB, and its limit is one for the whole program: to raise it for a while changes what
other threads read. The compiled part of the module keeps the limit in its own state, so a second copy of that part,
which nobody else has, is given another one.
"""

import csv
from importlib.util import find_spec, module_from_spec
from typing import Any

_MOST = 2**31 - 1


def _own_copy() -> Any:
    """A copy of the compiled part, or the module itself, with its limit raised for good, where there is none."""
    before = csv.field_size_limit()
    spec = find_spec("_csv")
    if spec is not None and spec.loader is not None:
        copy: Any = module_from_spec(spec)
        spec.loader.exec_module(copy)
        copy.field_size_limit(_MOST)
        if csv.field_size_limit() == before:
            return copy
    csv.field_size_limit(_MOST)
    return csv


_module = _own_copy()
csv_reader: Any = _module.reader
Error: type[Exception] = _module.Error
