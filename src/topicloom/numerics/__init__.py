"""Numba functions on plain arrays: no classes, no global random state, no allocation in loops over tokens."""

import sys

from topicloom import _limits

if "numba" not in sys.modules:
    _limits.require(_limits.LIBRARIES, "Importing topicloom")
