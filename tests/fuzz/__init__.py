"""Damaged inputs by the thousand: each is refused with an error of ours, or read as a naive parser reads it.

A target is a module of this package with two functions::

    write(rng: random.Random, folder: Path) -> None    one damaged, or by chance valid, input into an empty folder
    attempt(folder: Path) -> str                       "clean" if an error of ours refused it, "read" if it was accepted
                                                       and agrees with the naive parser; raises if the two disagree

A target whose cases are listed has ``write_case(number, folder)`` and ``n_cases()`` in place of ``write``. ``SHARE``
says how many cases a target gets relative to others, ``prepare()`` is called before there are children.
``python -m tests.fuzz --help`` runs them.
"""
