"""Short fits of every model, sampler and method give what they gave when they were recorded (``record.py``)."""

from typing import Any

import numpy as np
import pytest

from tests.golden import record

MACHINE, KNOWN = record.read()
CASES = {case[0]: case for case in record.cases()}


@pytest.mark.parametrize("name", [name for name in CASES if not name.endswith("large")])
def test_a_fit_gives_what_it_gave(name: str) -> None:
    """By bits on the kind of machine that recorded them, by sums on others."""
    assert record.differences(record.run(CASES[name]), KNOWN[name], bits=record.machine() == MACHINE) == []


def test_every_case_is_recorded() -> None:
    assert KNOWN.keys() == CASES.keys()
    for found in KNOWN.values():
        assert found["fit"]["log_joint_"]
        assert found["new"]


def seen(fit: Any, new: Any = 1.0, resumed: Any = None) -> record.Recorded:
    given = {"fit": fit, "new": new, "resumed": fit if resumed is None else resumed}
    return {part: {"x": record.seen(value)} for part, value in given.items()}


def test_what_differs_is_named() -> None:
    x = np.linspace(1, 2, 50)
    last_bit, wrong = np.nextafter(x, 3), x.copy()
    wrong[17] += 1e-2
    known = seen(x)
    for bits in (True, False):
        assert record.differences(seen(x.copy()), known, bits=bits) == []
        assert record.differences(seen(wrong, 2.0), known, bits=bits) == ["fit x", "new x"]
        assert record.differences(seen(x, resumed=last_bit), known, bits=bits) == ["resumed x"]
        assert record.differences(seen(x), {}, bits=bits) == ["fit x", "new x"]
        assert record.differences(seen(x), known | {"new": {"y": ["ab", 0.0]}}, bits=bits) == ["new x", "new y"]
    assert record.differences(seen(last_bit), known, bits=True) == ["fit x"]
    assert record.differences(seen(last_bit), known, bits=False) == []
