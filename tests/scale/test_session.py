"""The context of a cluster, where Ray is not installed."""

import sys

import pytest

from topicloom import scale
from topicloom.engine import places
from topicloom.errors import MissingExtraError


def test_what_ray_is_installed_by_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(MissingExtraError, match=r"needs Ray; install it with pip install 'topicloom\[ray\]'"),
        scale.ray(),
    ):
        pass
    assert places._place.get() is None
