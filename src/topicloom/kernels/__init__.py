"""Numba functions on plain arrays: no classes, no global random state, no allocation in loops over tokens."""
