"""What notebooks and pages show of diagnostics."""

import math
from typing import TYPE_CHECKING, Any

from topicloom import _html
from topicloom.errors import counted

if TYPE_CHECKING:
    from topicloom.diagnostics.bootstrap import BootstrapStability
    from topicloom.diagnostics.comparison import Comparison
    from topicloom.diagnostics.fitted import Diagnosis
    from topicloom.diagnostics.search_result import TopicSearch
    from topicloom.diagnostics.topic_stability import Stability
    from topicloom.diagnostics.topics import TopicDiagnostics

_TALL = "24em"  # of a table with a row per topic, in a notebook
_MOST = 300  # topics in a table of a notebook


# -- convergence ---------------------------------------------------------------------------------------------------


def diagnosis_html(found: "Diagnosis") -> str:
    """A diagnosis, for a notebook."""
    parts = [_verdict(found)]
    if found.quantities is not None:
        parts.append(_quantities(found))
    if found.topics:
        parts.append(_html.folded("Topics of the published chain", _chain_topics(found, _TALL)))
    return _html.box("Convergence", _sizes(found), *parts)


def diagnosis_page(found: "Diagnosis", bootstrap: "BootstrapStability | None" = None) -> str:
    """A diagnosis as a page, with the topics' stability over samples of documents if it was measured."""
    parts = [_verdict(found), _html.note(" · ".join(_sizes(found)))]
    if found.quantities is not None:
        parts += [_html.heading("Do chains agree?"), _quantities(found), _html.note(_READING)]
    if found.topics:
        parts += [_html.heading("Topics of the published chain"), _chain_topics(found, "")]
    if bootstrap is not None:
        parts += [_html.heading("Other samples of documents"), _html.verdict(str(bootstrap), not bootstrap.noise)]
        parts.append(_bootstrap_table(bootstrap, ""))
    return _html.page("Convergence", *parts)


_READING = (
    "R-hat compares the spread between chains with that within them: 1 is agreement. ESS is the number of independent "
    "draws that the recorded ones are worth, for means (bulk) and for 5% and 95% quantiles (tail). Of several "
    "quantities of a kind the worst is shown."
)


def _verdict(found: "Diagnosis") -> _html.Html:
    said = found.verdict
    return _html.verdict(said.text, said.agree and said.enough)


def _sizes(found: "Diagnosis") -> list[str]:
    sizes = [counted(found.n_chains, "chains"), f"{found.sweeps:,} sweeps each"]
    if found.quantities is None:
        return sizes
    return [*sizes, f"the first {found.discarded:,} left out", f"{found.n_draws:,} records per chain"]


def _quantities(found: "Diagnosis") -> _html.Html:
    columns = [("quantity", False), ("number", True), ("mean", True), ("R-hat", True), ("ESS bulk", True)]
    rows = [
        [row.name, str(row.quantities), f"{row.mean:.4g}", _rhat(row.rhat, found.max_rhat), _html.number(row.ess_bulk),
         _html.number(row.ess_tail)]
        for row in found.rows()
    ]  # fmt: skip
    return _html.table([*columns, ("ESS tail", True)], rows)


def _rhat(value: float, most: float) -> Any:
    """An R-hat, in bold if it is larger than is wanted."""
    text = _html.number(value, 3)
    return _html.Html(f"<b>{text} ▲</b>") if value > most else text


def _chain_topics(found: "Diagnosis", height: str) -> _html.Html:
    columns = [("topic", True), ("share", False), ("chains", True), ("R-hat", True), ("ESS bulk", True)]
    largest = max((row.share for row in found.topics), default=1.0)
    rows = [
        [str(row.topic), _html.bar(row.share, largest), f"{row.chains} of {found.n_chains}",
         _rhat(row.rhat, found.max_rhat) if row.comparable else "not comparable", _html.number(row.ess_bulk)]
        for row in found.topics
    ]  # fmt: skip
    if any(found.names):
        columns.append(("name", False))
        rows = [[*row, found.names[one.topic] or ""] for row, one in zip(rows, found.topics, strict=True)]
    if found.words:
        columns.append(("words", False))
        rows = [[*row, words] for row, words in zip(rows, found.words, strict=True)]
    return _html.table(columns, rows, height=height)


# -- stability -----------------------------------------------------------------------------------------------------


def stability_html(found: "Stability") -> str:
    """Stability over runs."""
    n = len(found.alignment.matches) - 1
    facts = [
        f"{counted(n, 'runs')} beside run {found.reference}",
        f"a topic is in {found.score:.0%} of them on average",
        f"similarity {_html.number(found.similarity, 2)}",
    ]
    rows = [
        [str(row["topic"]), f"{row['share']:.0%}", _html.interval(row["lower"], row["share"], row["upper"]),
         f"{row['lower']:.0%} to {row['upper']:.0%}", _html.number(row["similarity"], 2)]
        for row in found.rows()[:_MOST]
    ]  # fmt: skip
    columns = [("topic", True), ("share", True), ("", False), (f"{found.level:.0%} interval", True)]
    return _html.box("Stability", facts, _html.table([*columns, ("similarity", True)], rows, height=_TALL))


def bootstrap_html(found: "BootstrapStability") -> str:
    """Stability over bootstrap samples of documents."""
    facts = [counted(found.n_samples, "bootstrap samples of documents")]
    said = _html.verdict(str(found), not found.noise)
    return _html.box("Stability", facts, said, _bootstrap_table(found, _TALL))


def _bootstrap_table(found: "BootstrapStability", height: str) -> _html.Html:
    columns = [("topic", True), ("samples", True), ("", False), (f"{found.level:.0%} interval", True), ("", False)]
    rows = [
        [str(row["topic"]), f"{row['share']:.0%}", _html.interval(row["lower"], row["share"], row["upper"]),
         f"{row['lower']:.0%} to {row['upper']:.0%}", row["kind"], row["name"] or row["words"]]
        for row in found.rows()
    ]  # fmt: skip
    return _html.table([*columns, ("words", False)], rows, height=height)


# -- numbers of topics, models, topics -------------------------------------------------------------------------------


def search_html(found: "TopicSearch") -> str:
    """A search over numbers of topics."""
    columns = {
        "held out": ("completion", 4), "difference": ("difference", 4), "± error": ("difference_se", 4),
        "c_npmi": ("c_npmi", 3), "exclusivity": ("exclusivity", 2), "stability": ("stability", 2),
        "in use": ("topics_in_use", 1),
    }  # fmt: skip
    rows = []
    for row in found.rows():
        mark = f"dropped in round {row['dropped']}" if row["dropped"] else ""
        mark = "recommended" if row["within_one_se"] else "cannot be told apart" if row["cannot_tell_apart"] else mark
        values = [_html.number(row[name], digits) for name, digits in columns.values()]
        rows.append([str(row["n_topics"]), *values, _html.Html(f"<b>{mark}</b>") if row["within_one_se"] else mark])
    heads = [("topics", True), *((name, True) for name in columns), ("", False)]
    facts = [f"{counted(found.n_docs, 'documents')} held out", counted(found.n_tokens, "tokens")]
    return _html.box("Number of topics", facts, _html.verdict(found.text), _html.table(heads, rows))


def comparison_html(found: "Comparison") -> str:
    """Models compared by held-out documents."""
    columns = ["per token", "perplexity", "difference", "± error", "fits"]
    rows = [
        [row["model"], _html.number(row["per_token"], 4), _html.number(row["perplexity"], 1),
         _html.number(row["difference"], 4), _html.number(row["error"], 4), str(row["n_fits"]), row["verdict"]]
        for row in found.rows()
    ]  # fmt: skip
    heads = [("model", False), *((name, True) for name in columns), ("", False)]
    facts = [f"by {found.measure.replace('_', '-')}", f"{counted(len(found.tokens), 'documents')} held out"]
    facts.append(counted(int(found.tokens.sum()), "tokens"))
    return _html.box("Models compared", facts, _html.table(heads, rows))


def topics_html(found: "TopicDiagnostics") -> str:
    """Diagnostics of topics."""
    from topicloom.diagnostics.topic_measures import MEASURES

    digits = {"tokens": 0, "eff_num_words": 0, "coherence": 0, "word_length": 1, "document_entropy": 2}
    rows = []
    for row in found.rows()[:_MOST]:
        words = _html.escape(" ".join(_html.cut(word, 20) for word in found.top_words[row["topic"]][:3]))
        values = (_html.number(row[name], digits.get(name, 3)) for name in MEASURES)
        rows.append([str(row["topic"]), _html.Html(f'<span style="white-space:nowrap">{words}</span>'), *values])
    heads = [("topic", True), ("words", False), *((name.replace("_", " "), True) for name in MEASURES)]
    facts = [counted(found.n_topics, "topics"), counted(found.n_top_words, "top words")]
    return _html.box("Diagnostics of topics", facts, _html.table(heads, rows, height=_TALL))


def difference_html(verdict: str, value: float, error: float, clear: bool, n_docs: int, n_tokens: int) -> str:
    """The difference between two models."""
    low, high = value - 2 * error, value + 2 * error
    facts = [f"{counted(n_docs, 'documents')} held out", counted(n_tokens, "tokens")]
    about = (
        f"Two standard errors on either side are {low:.4f} to {high:.4f} nats per token."
        if math.isfinite(error)
        else ""
    )
    return _html.box("Difference", facts, _html.verdict(verdict, True if clear else None), _html.note(about))
