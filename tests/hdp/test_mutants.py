"""Wrong samplers of a hierarchical Dirichlet process, each of which the tests of the right one must reject."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.hdp.test_sampler import exact, geweke, mover, proposer, redrawer
from tests.helpers.mutating import REJECT, mutate
from tests.oracles import hdp
from tests.oracles import lda as oracle

Changes = Sequence[tuple[str, str]]
TOPICS: dict[str, Changes] = {
    "token left in its document": [("(doc[old] - 1 + alpha[old])", "(doc[old] + alpha[old])")],
    "token left in its topic's total": [("/ (topic[old] - 1 + beta_sum)", "/ (topic[old] + beta_sum)")],
    "prior of a new topic's word not normalised": [("level[REST] * b / beta_sum", "level[REST] * b")],
    "rest does not shrink": [("level[REST] *= 1.0 - share", "pass")],
    "forgotten topic's weight is lost": [("level[REST] += alpha[old]", "pass")],
    "new topics' shares do not know γ": [("** (1.0 / level[TOPIC])", "** 1.0")],
    "new topics have no weight": [("max(share * level[REST], SMALLEST)", "SMALLEST")],
    "factors of the last document": [("        enter_document(doc_ptr[d], doc_ptr[d + 1]",
                                      "        enter_document(doc_ptr[0], doc_ptr[1]")],
}  # fmt: skip
AT_MOST: dict[str, Changes] = {
    "one topic too many": [("< prior.most", "<= prior.most")],
}
SPLITS: dict[str, Changes] = {
    "γ forgotten": [("log(state.level[TOPIC]) - log(share)", "-log(share)")],
    "shares taken for given": [("- log(share) - log(1.0 - share)", "")],
    "merges as likely as splits": [("ratio if splits else -ratio", "ratio")],
    "proposals not counted": [("(of_a + of_b) / of_both", "max(of_a, of_b) / of_both")],
    "anchors not counted in documents": [("1 if d == pair.doc_i else 0, 1 if d == pair.doc_j else 0", "0, 0")],
    "anchors' weights of documents left out": [("log(base_a) + log(base_b) - log(base_a + base_b)",
                                                "-log(base_a + base_b)")],
    "anchors' words forgotten": [("    total += log(beta[w] / beta_sum)", "    0 * log(beta[w] / beta_sum)")],
    "one word more in both": [("(count[v, 0] + count[v, 1] + beta[v])", "(count[v, 0] + count[v, 1] + 2 * beta[v])")],
}  # fmt: skip
WEIGHTS: dict[str, Changes] = {
    "γ forgotten": [("np.append(tables, of_topics)", "np.append(tables, 1.0)")],
    "tokens in place of tables": [("np.append(tables, of_topics)", "np.append(state.topic, of_topics)")],
    "topics in place of tables": [("np.append(tables, of_topics)", "np.append(np.ones(len(tables)), of_topics)")],
}
CONCENTRATIONS: dict[str, Changes] = {
    "all shapes kept": [("shape -= uniform(stream) * (n + now) < n", "pass")],
    "rate kept": [("rate -= log(x / (x + y))", "pass")],
    "beta variate without the one": [("gamma(stream, now + 1.0)", "gamma(stream, max(now, 1.0))")],
}  # fmt: skip
GIVEN_TO_THEM: dict[str, Changes] = {
    "tables in place of topics": [("float(len(tables)), of_topics", "in_all, of_topics")],
    "topics in place of tables": [("in_all, of_docs", "float(len(tables)), of_docs")],
}  # fmt: skip


def sweep_with(changes: Changes = ()) -> Any:
    """The package's sweep with changes, as plain Python, which does not need lanes to be full."""
    wrong = mutate("hdp.topics", *changes).sweep_topics
    wrong.__globals__["in_lanes"] = lambda n: n
    return wrong


def p_value(sweep_topics: Any, draw_weights: Any, n: int, most: int = 99) -> float:
    with np.errstate(all="ignore"):
        return hdp.invariance(exact(most), mover(sweep_topics, draw_weights, most, 2), n, seed=9)


def rejected(sweep_topics: Any, draw_weights: Any, most: int = 99) -> bool:
    return any(p_value(sweep_topics, draw_weights, n, most) < REJECT for n in (400, 3000))


def test_the_unchanged_program_passes() -> None:
    assert p_value(sweep_with(), None, 1000) > oracle.FALSE_ALARM
    assert p_value(proposer(mutate("hdp.split_merge").move), None, 1000) > oracle.FALSE_ALARM
    assert p_value(None, mutate("hdp.weights").draw_weights, 1000) > oracle.FALSE_ALARM
    assert geweke(mutate("hdp.weights").draw_weights, 300, seed=8) > oracle.FALSE_ALARM


@pytest.mark.parametrize("name", TOPICS)
def test_wrong_draws_of_topics_are_rejected(name: str) -> None:
    assert rejected(sweep_with(TOPICS[name]), None)


@pytest.mark.parametrize("name", SPLITS)
def test_wrong_splits_are_rejected(name: str) -> None:
    assert rejected(proposer(mutate("hdp.split_merge", *SPLITS[name]).move), None)


@pytest.mark.parametrize("name", AT_MOST)
def test_wrong_limits_are_rejected(name: str) -> None:
    assert rejected(sweep_with(AT_MOST[name]), None, 2)


@pytest.mark.parametrize("name", WEIGHTS)
def test_wrong_weights_are_rejected(name: str) -> None:
    assert rejected(None, mutate("hdp.weights", *WEIGHTS[name]).draw_weights)


@pytest.mark.parametrize("name", CONCENTRATIONS)
def test_wrong_concentrations_are_rejected(name: str) -> None:
    sizes, tables = [5, 0, 1, 9, 3], 7
    draw = redrawer(mutate("hdp.weights", *CONCENTRATIONS[name]).draw_concentration, sizes, tables)
    assert hdp.concentration_p_value(draw, sizes, tables, 4000) < REJECT


@pytest.mark.parametrize("name", GIVEN_TO_THEM)
def test_concentrations_of_other_numbers_are_rejected(name: str) -> None:
    assert geweke(mutate("hdp.weights", *GIVEN_TO_THEM[name]).draw_weights, 500, seed=8) < REJECT
