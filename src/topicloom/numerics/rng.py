"""Random streams keyed by what they are for, never by which worker uses them.

A stream is the 256-bit state of xoshiro256++ (Blackman and Vigna), four uint64, seeded by hashing a path such as
(seed, chain, sweep, shard) with the finaliser of SplitMix64. Two paths that differ anywhere give unrelated streams,
so results do not depend on threads, and a run can go on from its sweep number alone.
"""

from enum import Enum

import numpy as np

from topicloom._types import FloatArray, UInt64Array
from topicloom.numerics.jit import kernel, step

_MASK = (1 << 64) - 1
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S17, _S19, _S23, _S27, _S30, _S31, _S41, _S45 = (np.uint64(s) for s in (17, 19, 23, 27, 30, 31, 41, 45))
_S11 = np.uint64(11)
_TO_UNIT = 2.0**-53


@kernel
def mix(x: np.uint64) -> np.uint64:
    """SplitMix64's finaliser: every input bit reaches every output bit."""
    x = (x ^ (x >> _S30)) * _M1
    x = (x ^ (x >> _S27)) * _M2
    return x ^ (x >> _S31)


@kernel
def combine(key: np.uint64, part: np.uint64) -> np.uint64:
    """The key of a path with one more part."""
    mixed: np.uint64 = mix(mix(part + _GOLDEN) ^ (key * _M1 + _GOLDEN))
    return mixed


@kernel
def fill_stream(stream: UInt64Array, key: np.uint64) -> None:
    """Start ``stream`` (4 words) from a key."""
    for i in range(4):
        key = key + _GOLDEN
        stream[i] = mix(key)


@kernel
def next_u64(s: UInt64Array) -> np.uint64:
    t: np.uint64 = s[0] + s[3]
    result: np.uint64 = ((t << _S23) | (t >> _S41)) + s[0]
    t = s[1] << _S17
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = (s[3] << _S45) | (s[3] >> _S19)
    return result


@kernel
def uniform(s: UInt64Array) -> float:
    """Uniform in [0, 1), with 53 bits."""
    return (next_u64(s) >> _S11) * _TO_UNIT


@step
def uniforms(s: UInt64Array, out: FloatArray) -> None:
    """Fill ``out`` as so many calls of ``uniform`` would: the stream stays in registers, which is twice as quick."""
    a, b, c, d = s[0], s[1], s[2], s[3]
    for j in range(out.shape[0]):
        t = a + d
        out[j] = ((((t << _S23) | (t >> _S41)) + a) >> _S11) * _TO_UNIT
        t = b << _S17
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= t
        d = (d << _S45) | (d >> _S19)
    s[0], s[1], s[2], s[3] = a, b, c, d


@kernel
def below(s: UInt64Array, n: int) -> int:
    """Uniform in 0 … n − 1. The bias of scaling 53 bits is below n/2⁵³."""
    return int(uniform(s) * n)


class Purpose(Enum):
    """What a stream is for: a part of its path, so that no two uses share one.

    A value is the family of models that has the use, and its number in the path. A seed belongs to one model, so
    families need not tell their uses apart; those of "all" are in every family.
    """

    START = ("all", 1)
    SWEEP = ("all", 2)
    FOLD_IN = ("all", 3)
    VARIATIONAL_START = ("all", 4)
    BATCH_ORDER = ("lda", 5)
    HELD_OUT = ("labeled", 6)
    AUGMENTATION = ("medlda", 7)
    NOISE = ("medlda", 8)
    WEIGHTS = ("medlda", 9)
    MIXTURES = ("compound", 7)
    MIXTURE_DRAWS = ("compound", 8)
    SIMULATION = ("hmm", 7)
    TABLES = ("hdp", 7)
    PARAMETERS = ("hmm", 8)
    PROBES = ("all", 10)
    LEFT_TO_RIGHT = ("all", 0x6C3272)
    ANNEALED = ("all", 0x616973)
    SEARCH = ("all", 0x736561)
    BOOTSTRAP = ("all", 0x626F6F)
    MERGED_START = ("all", 0x6D7267)
    GROWING_START = ("all", 0x67726F)
    SHARES = ("all", 0x736861)


def path_key(*path: int | Purpose) -> np.uint64:
    """The key of a path of whole numbers (of any size or sign) and purposes."""
    key = 0x746F7069636C6F6D  # "topiclom": an arbitrary, fixed start
    for given in path:
        part = given.value[1] if isinstance(given, Purpose) else given
        part = abs(part) * 2 + (part < 0)
        key = _combine(key, part & _MASK)
        while part := part >> 64:  # large seeds count in full; the flip tells more bits from one more part
            key = _combine(key ^ _MASK, part & _MASK)
    return np.uint64(key)


def stream(*path: int | Purpose) -> UInt64Array:
    """A fresh stream for a path, for instance ``stream(seed, Purpose.SWEEP, chain, sweep, shard)``."""
    key = int(path_key(*path))
    return np.array([_mix((key + (i + 1) * int(_GOLDEN)) & _MASK) for i in range(4)], np.uint64)


def _mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * int(_M1)) & _MASK
    x = ((x ^ (x >> 27)) * int(_M2)) & _MASK
    return x ^ (x >> 31)


def _combine(key: int, part: int) -> int:
    return _mix(_mix((part + int(_GOLDEN)) & _MASK) ^ ((key * int(_M1) + int(_GOLDEN)) & _MASK))
