"""What the chains of a model say about its convergence: whether to go on, and a verdict in one line."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from topicloom.engine import stopping
from topicloom.engine.probes import probes_of
from topicloom.engine.progress import announce
from topicloom.engine.run import Chain, Plan, Trace


class JudgedChains:
    """The part of a model that compares its chains."""

    max_iter: stopping.MaxIter
    n_iter_: int
    trace_every: int
    traces_: tuple[Trace, ...]
    verbose: int

    def _look_again(self, plan: Plan, chains: list[Chain]) -> int | None:
        """The sweeps up to which to go on, if the chains do not agree yet and may; None otherwise."""
        if plan.until is None or any(chain.sweep < plan.max_iter for chain in chains):  # a callback stopped one
            return None
        traces = [chain.trace for chain in chains]
        late = stopping.late_records(traces, stopping.discarded(plan.max_iter, plan.burn_in))
        groups = self._chain_groups(len(chains))
        found = stopping.judge(traces, groups, late, plan.until, sweeps_per_draw=plan.trace_every).verdict
        more: int | None = None if found.agree and found.enough else plan.until.look_after(plan.max_iter)
        if self.verbose > 0:
            announce(f"{plan.max_iter:,} sweeps: {found.line}" + (f" Going on to {more:,}." if more else ""))
        return more

    @property
    def _samples(self) -> bool:
        """Whether chains draw samples; otherwise they iterate until they have converged."""
        return True

    def _chain_groups(self, n_chains: int) -> list[list[int]]:
        """Chains that draw from the same posterior, by their numbers."""
        return [list(range(n_chains))]

    @property
    def verdict_(self) -> str | None:
        """Whether the chains agree, in one line (str); None if too little has been recorded to judge.

        ``topicloom.diagnostics.diagnose`` says more.

        Examples
        --------
        >>> from topicloom import LDA
        >>> from topicloom.datasets import bars
        >>> model = LDA(5, n_chains=2, max_iter=40, trace_every=2, random_state=0).fit(bars(n_docs=40).corpus)
        >>> "R-hat" in model.verdict_
        True
        """
        check_is_fitted(self, "seed_")
        if not self._samples or not all(trace.probes for trace in self.traces_):
            return None
        burn_in = getattr(self, "burn_in", None)
        late = stopping.late_records(self.traces_, stopping.discarded(self.n_iter_, burn_in))
        if len(late[0]) < stopping.LEAST_RECORDS:
            return None
        rule = stopping.stopping_rule(self.max_iter) or stopping.Converged()
        groups = self._chain_groups(len(self.traces_))
        return stopping.judge(self.traces_, groups, late, rule, sweeps_per_draw=self.trace_every).verdict.line

    def _probe_names(self) -> list[str]:
        """Of what is recorded of chains so that they can be compared (``Trace.probes``)."""
        corpus: Any = self.corpus_  # type: ignore[attr-defined]  # a model has one
        return probes_of(corpus).names
