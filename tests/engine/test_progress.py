"""What a run shows: lines in a log, bars in a terminal and in a notebook."""

import io
import sys
import types
from typing import Any

import pytest

from topicloom import LDA
from topicloom.corpus import Corpus
from topicloom.datasets import bars
from topicloom.engine import progress as shown
from topicloom.engine.run import Chain, Plan, Trace
from topicloom.numerics import cache

PLAN = Plan(0, 500, None, 1, "standard")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return bars(n_docs=10).corpus


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds, as the test sets them."""
    now = [100.0]
    monkeypatch.setattr(shown.time, "monotonic", lambda: now[0])
    return now


def at(index: int, sweep: int, corpus: Corpus, per_token: float | None = -8.27) -> Chain:
    values = [] if per_token is None else [per_token * corpus.n_tokens]
    return Chain(index, sweep, None, None, Trace(sweep=[sweep] * len(values), log_joint=values))


def test_a_log_has_a_line_every_few_seconds(
    corpus: Corpus, clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with shown.progress(True, corpus, [at(0, 0, corpus, None)], PLAN) as watch:
        clock[0] += 30.0  # kernels are compiled
        watch(at(0, 20, corpus, None))
        for sweep in range(21, 101):
            clock[0] += 0.125
            watch(at(0, sweep, corpus))
    assert capsys.readouterr().err.splitlines() == [
        "sweep 20 of 500",  # how long the others take is not known yet
        "sweep 60 of 500, log joint/token -8.2700, 55 s left",
        "sweep 100 of 500, log joint/token -8.2700, 50 s left",
        "100 of 500 sweeps in 40 s, log joint/token -8.2700",
    ]


def test_time_left_is_that_of_all_chains(
    corpus: Corpus, clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    chains = [at(i, 100, corpus) for i in range(3)]
    with shown.progress(True, corpus, chains, PLAN) as watch:
        watch(at(0, 200, corpus))
        clock[0] += 10.0
        watch(at(1, 300, corpus, -8.5))  # 200 sweeps in 10 s; 300, 200 and 400 are left
        clock[0] += 10.0
        watch.extend(1000, "R-hat 1.21")
    assert capsys.readouterr().err.splitlines() == [
        "chain 1: sweep 300 of 500, log joint/token -8.5000, 45 s left",
        "chain 1: sweep 300 of 1,000, log joint/token -8.5000, R-hat 1.21, 4 min left",
        "100 to 300 of 1,000 sweeps in each of 3 chains in 20 s, log joint/token -8.2700, R-hat 1.21",
    ]


def test_a_chain_that_has_converged_has_nothing_left(corpus: Corpus, clock: list[float]) -> None:
    with shown.progress(True, corpus, [at(0, 0, corpus)], PLAN) as watch:
        watch(at(0, 10, corpus))
        clock[0] += 1.0
        last = at(0, 20, corpus)
        last.converged = True
        watch(last)
        assert watch.left() == 0.0


def test_nothing_is_shown_unless_asked(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    with shown.progress(False, corpus, [at(0, 0, corpus)], PLAN) as watch:
        assert watch.callbacks == ()
        watch.extend(100)
    assert capsys.readouterr().err == ""


def test_a_terminal_has_bars_that_can_grow(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for name, value in (("TERM", "xterm"), ("COLUMNS", "120")):
        monkeypatch.setenv(name, value)
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "stderr", Terminal())
    seen = sys.stderr
    with shown.progress(True, corpus, [at(0, 0, corpus), at(1, 0, corpus)], PLAN) as watch:
        assert isinstance(watch, shown.Bars)
        cache._say("compiling")  # must not tear the bars apart: the line stands above them
        assert watch.callbacks == (watch,)
        watch(at(1, 250, corpus))
        watch.extend(750, "R-hat 1.3")
    text = seen.getvalue()  # type: ignore[attr-defined]
    last = text[text.rindex("chain 0") :]
    assert "0/750" in last
    assert "250/750" in last
    assert "log joint/token -8.2700, R-hat 1.3" in last


def test_a_notebook_has_bars_that_are_replaced_in_place(
    corpus: Corpus, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    contents: list[dict[str, str]] = []

    class Handle:
        def update(self, content: dict[str, str], raw: bool) -> None:
            assert raw
            contents.append(content)

    def display(content: dict[str, str], raw: bool, display_id: bool) -> Handle:
        contents.append(content)
        return Handle()

    ipython, displays = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    displays.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", displays)
    with shown.progress(True, corpus, [at(0, 0, corpus)], PLAN) as watch:
        watch(at(0, 1, corpus))
        watch(at(0, 2, corpus))  # at the same moment: not shown
        clock[0] += 1.0
        watch(at(0, 101, corpus))
        watch.extend(600, "<b>")
    assert [content["text/plain"] for content in contents] == [
        "starting …",
        "sweep 1 of 500, log joint/token -8.2700",
        "sweep 101 of 500, log joint/token -8.2700, 4.0 s left",
        "101 of 600 sweeps in 1.0 s, log joint/token -8.2700, <b>",
    ]
    assert '<progress value="101" max="600"' in contents[-1]["text/html"]
    assert "&lt;b&gt;" in contents[-1]["text/html"]


def test_an_ipython_shell_in_a_terminal_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    ipython: Any = types.ModuleType("IPython")
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    for shell in (None, types.SimpleNamespace()):
        ipython.get_ipython = lambda shell=shell: shell
        assert not shown._in_notebook()


def test_a_fit_on_threads_ends_with_what_was_done(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    LDA(2, max_iter=12, n_chains=2, n_jobs=2, random_state=0, verbose=1).fit(corpus)
    assert "12 of 12 sweeps in each of 2 chains in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (12.4, "12 s"), (150, "2 min"), (3540, "59 min"), (9000, "2 h 30 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert shown.duration(seconds) == text
