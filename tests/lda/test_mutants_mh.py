"""Deliberately wrong forms of the Metropolis-Hastings sampler, each of which the enumeration test must reject.

Among them are the two economies of LightLDA: proposals that have seen the token's own topic, or topics that others had
earlier in the sweep, are refused however carefully their own values are divided out.
"""

import importlib
import inspect
import types
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from tests.helpers.sweeping import undecorated
from tests.oracles import lda as oracle
from topicloom.engine.sampler import Info, Key, Schedule
from topicloom.engine.state import AnyState, rebuild_counts
from topicloom.lda.gibbs import mh

REPLICATES = 4000
REJECT = 1e-9  # a right program gets this far once in a billion tries
BOTH, WORD, DOC = (True, True), (True, False), (False, True)  # which proposals are in use


def mutate(*changes: tuple[str, str]) -> types.SimpleNamespace:
    """The sampler's source with each text replaced by another, run as plain Python."""
    source = inspect.getsource(importlib.import_module("topicloom.lda.gibbs.mh"))
    for old, new in changes:
        assert old in source, f"the mutant's text is gone: {old!r}"
        source = source.replace(old, new)
    names: dict[str, object] = {"__name__": "mutant of mh"}
    exec(compile(undecorated(source), "<mutant of mh>", "exec"), names)
    return types.SimpleNamespace(**names)


Sweep = Callable[..., tuple[AnyState, Info]]


def p_value(
    case: oracle.Case, use: tuple[bool, bool], n_mh: int = 1, n: int = REPLICATES, sweep: Sweep = mh.sweep
) -> float:
    """p-value that the posterior is invariant under a sweep with these proposals."""

    def run(z: np.ndarray, replicate: int) -> np.ndarray:
        state = rebuild_counts(case.corpus, z, case.n_topics)
        return sweep(case.corpus, state, case.prior, Key(41, replicate, 0), Schedule(n_mh=n_mh), *use)[0].z

    return oracle.invariance(case, run, n, seed=42)


@pytest.mark.parametrize("which", oracle.cases())
@pytest.mark.parametrize(
    ("use", "n_mh"),
    [(WORD, 1), (DOC, 1), (BOTH, 1), (BOTH, 3)],
    ids=["by word alone", "by document alone", "one step of each", "three of each"],
)
def test_every_proposal_keeps_the_posterior(which: str, use: tuple[bool, bool], n_mh: int) -> None:
    assert p_value(oracle.cases()[which], use, n_mh) > oracle.FALSE_ALARM


@pytest.mark.parametrize("which", oracle.cases())
def test_the_unchanged_source_passes(which: str) -> None:
    assert p_value(oracle.cases()[which], BOTH, sweep=mutate().sweep) > oracle.FALSE_ALARM


WORD_TEST = "if t != s and uniform(stream) * share[s] * total[t] < share[t] * total[s]:"
DOC_TEST = "if uniform(stream) * here * total[t] < there * total[s]:"
BY_ALPHA = "draw_alias(alpha_keep[r], alpha_other[r], "
REFRESH = "            total[{0}] = (topic[{0}] + beta_sum[{0}]) / of_part[{0}]\n"
# The word's topics when the sweep began, the token's own among them, as LightLDA's alias tables hold them.
TABLE = [
    ("word_ptr[v + 1] - word_ptr[v] - 1, end", "word_ptr[v + 1] - word_ptr[v], end"),
    ("z_by_word[j + 1 if j >= own else j]", "table[v][int(u)]"),
    (
        "    r, alpha_sum = -1, 0.0\n",
        "    r, alpha_sum = -1, 0.0\n    table = np.split(z_by_word.copy(), word_ptr[1:-1])\n",
    ),
]
IN_TABLE = "(np.count_nonzero(table[v] == {0}) + b)"
# The document's topics, the token's own among them.
WITH_OWN = [("end - begin - 1", "end - begin"), ("z[j + 1 if j >= i else j]", "z[j]")]


class Mutant(NamedTuple):
    use: tuple[bool, bool]
    changes: list[tuple[str, str]]
    case: str = "three topics"
    n: int = REPLICATES


MUTANTS = {
    "word table of the sweep's start, left out of the ratio": Mutant(WORD, TABLE, n=3 * REPLICATES),
    "word table of the sweep's start, divided out": Mutant(WORD, [
        *TABLE,
        (WORD_TEST,
         f"if uniform(stream) * share[s] * total[t] * (row[s] + b) * {IN_TABLE.format('t')}"
         f" < share[t] * total[s] * (row[t] + b) * {IN_TABLE.format('s')}:"),
    ]),
    "word's other tokens, as they were when the sweep began": Mutant(WORD, [("z_by_word[own] = s\n", "pass\n")]),
    "document counts frozen at the token's old topic, divided out": Mutant(DOC, [
        *WITH_OWN,
        (DOC_TEST,
         "if uniform(stream) * here * total[t] * share[s] * (share[t] + (t == old))"
         " < there * total[s] * share[t] * (share[s] + (s == old)):"),
    ]),
    "document counts with the token at its present topic, divided out": Mutant(DOC, [
        *WITH_OWN,
        ("t = int(z[j])", "t = int(z[j]) if j != i else s"),
        (DOC_TEST, "if uniform(stream) * here * total[t] * share[s] < there * total[s] * (share[s] + 1):"),
    ]),
    "ratio without the word proposal": Mutant(WORD, [
        (WORD_TEST, "if uniform(stream) * (row[s] + b) * share[s] * total[t] < (row[t] + b) * share[t] * total[s]:")
    ]),
    "ratio without the document proposal": Mutant(DOC, [
        (DOC_TEST, "if uniform(stream) * here * share[s] * total[t] < there * share[t] * total[s]:")
    ]),
    "α forgotten in the document proposal's ratio": Mutant(DOC, [
        (DOC_TEST, "if uniform(stream) * here * total[t] * share[s] * doc[t] < there * total[s] * share[t] * doc[s]:")
    ]),
    "α never proposed": Mutant(DOC, [("if u < of_doc:", "if of_doc > 0:"), ("* (of_doc + alpha_sum)", "* of_doc")]),
    "α proposed as if it were symmetric": Mutant(DOC, [
        (BY_ALPHA + "(u - of_doc) / alpha_sum)", "int((u - of_doc) / alpha_sum * n_topics)")
    ]),
    "β proposed by the document's α": Mutant(WORD, [
        ("t = min(int((u - of_word) / b), n_topics - 1)", f"t = {BY_ALPHA}(u - of_word) / flat)")
    ]),
    "β never proposed": Mutant(WORD, [("if u < of_word:", "if of_word > 0:"), ("* mass", "* of_word")]),
    "token counted in its word": Mutant(DOC, [
        ("            row[old] -= 1\n", ""),
        ("            row[s] += 1\n", "            row[old] -= 1\n            row[s] += 1\n"),
    ], n=3 * REPLICATES),
    "token counted in its document": Mutant(WORD, [("            share[old] = doc[old] + a[old]\n", "")]),
    "token counted in the totals": Mutant(BOTH, [(REFRESH.format("old"), "")]),
    "totals of the sweep's start": Mutant(BOTH, [(REFRESH.format("old"), ""), (REFRESH.format("s"), "")]),
    "totals left out of the ratio": Mutant(WORD, [(WORD_TEST, "if uniform(stream) * share[s] < share[t]:")]),
    "ratio turned round": Mutant(DOC, [(DOC_TEST, "if uniform(stream) * there * total[s] < here * total[t]:")]),
    "always accepted": Mutant(WORD, [(WORD_TEST, "if True:")]),
    "seed words forgotten in the ratio": Mutant(
        DOC, [("here += boost[seed, s]", "pass"), ("there += boost[seed, t]", "pass")], "seed word"
    ),
    "seed words forgotten in the proposal": Mutant(
        WORD, [("elif seed < 0 or", "elif True or"), ("+ (boost_sum[seed] if seed >= 0 else 0.0)", "")], "seed word"
    ),
    "prior of the first document for all": Mutant(
        BOTH, [("a = alpha[r]", "a = alpha[0]"), ("share[:] = alpha[r]", "share[:] = alpha[0]")], "two collections"
    ),
    "document left as it was": Mutant(BOTH, [("            share[z[i]] = a[z[i]]\n", "            pass\n")]),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_forms_are_rejected(name: str) -> None:
    mutant = MUTANTS[name]
    sweep = mutate(*mutant.changes).sweep
    assert p_value(oracle.cases()[mutant.case], mutant.use, n=mutant.n, sweep=sweep) < REJECT


def test_the_copy_in_word_order_follows_z(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where blocks begin in the middle of the documents and of the words."""
    case, z = oracle.random_case(5, 30, 12, 4)
    made: list[mh.Scratch] = []
    make = mh.make_scratch

    def keep(*args: object) -> mh.Scratch:
        made.append(make(*args))  # type: ignore[arg-type]
        return made[-1]

    monkeypatch.setattr(mh, "make_scratch", keep)
    state = rebuild_counts(case.corpus, z, 4)
    for n_shards in (1, 2, 3, 7):
        after, info = mh.sweep(case.corpus, state, case.prior, Key(1, 0, n_shards), Schedule(n_shards))
        assert info.changed > 0
        assert info.work == case.corpus.n_tokens * 4
        np.testing.assert_array_equal(made[-1].z_by_word, after.z[case.corpus.by_word.token])
