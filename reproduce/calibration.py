"""Are posteriors right, and do intervals hold what they promise?

    python -m reproduce.calibration [--sections exact approximate coverage learned stability] [--trials N]
                                    [--corpora N] [--sweeps N] [--sizes NAME …] [--quick]

exact: simulation-based calibration of every sampler that is said to be exact. approximate: the same of those that are
not, which may fail. coverage: how often intervals of shares, differences and trends hold the truth. learned: priors
that are learned. stability: intervals of the share of runs that have a topic. No data is needed.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reproduce import _coverage, _sbc
from reproduce._common import run_sections
from topicloom.errors import InputError
from topicloom.lda.gibbs import get_sampler

SECTIONS = ("exact", "approximate", "coverage", "learned", "stability")
REJECT = 0.001  # of a sampler's p-value


@dataclass(frozen=True)
class Options:
    trials: int
    corpora: int
    sweeps: int
    sizes: Sequence[str]


def exact_studies() -> Iterable[_sbc.Study]:
    for name in ("dense", "sparse", "words", "mh", "partial", "auto"):
        yield _sbc.lda(get_sampler(name), f"LDA, {name}")
    yield _sbc.labeled()
    for loss, sampler in (("logistic", "dense"), ("logistic", "mh"), ("epsilon_insensitive", "dense"),
                          ("epsilon_insensitive", "mh")):  # fmt: skip
        yield _sbc.medlda(loss, sampler)
    for method in ("ags", "mgs"):
        yield _sbc.compound(method)
    for sampler in ("collapsed", "partial", "blocked"):
        yield _sbc.hmm(sampler)


def approximate_studies() -> Iterable[_sbc.Study]:
    yield _sbc.lda(get_sampler("warp"), "LDA, warp", exact=False)
    for n_shards in (2, 3):
        yield _sbc.sharded(n_shards)
    for method in ("cvb0", "cvb", "vb"):
        yield _sbc.variational(method)
    yield _sbc.variational_compound()


def exact(options: Options) -> str:
    return _verdict(exact_studies(), options.trials)


def approximate(options: Options) -> str:
    return _verdict(approximate_studies(), options.trials)


def _verdict(studies: Iterable[_sbc.Study], n_trials: int) -> str:
    shown, verdicts = _sbc.report(studies, n_trials)
    failed = [f"{name} (p = {p:.1g})" for name, _, p in verdicts if p < REJECT]
    said = "none is rejected" if not failed else f"rejected: {', '.join(failed)}"
    return (
        f"{len(verdicts)} samplers, {n_trials} data sets each: {said}. One is rejected if its least p-value times "
        f"the number of its quantities is below {REJECT}. A full bar is twice what is expected.\n\n{shown}"
    )


def coverage(options: Options) -> str:
    about = (
        f"K = {_coverage.K}, {_coverage.V} words, documents of {_coverage.LENGTH}; (α, γ, η) = ({_coverage.ALPHA:g}, "
        f"{_coverage.GAMMA:g}, {_coverage.ETA:g}); {options.corpora} corpora per row, {options.sweeps} sweeps."
    )
    return f"{about}\n\n{_coverage.collections_table(options.corpora, options.sweeps, options.sizes)}"


def learned(options: Options) -> str:
    return _coverage.learned_table(options.corpora, options.sweeps)


def stability(options: Options) -> str:
    return _coverage.stability_table(10 * options.trials)


PARTS = {
    "exact": ("Exact samplers", exact),
    "approximate": ("Approximations", approximate),
    "coverage": ("Coverage of intervals of 90%", coverage),
    "learned": ("Learned priors", learned),
    "stability": ("Stability: Wilson's intervals", stability),
}


def _at_least_one(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} must be a whole number of at least 1")
    return int(text)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduce.calibration", description=__doc__.split("\n")[0])
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=SECTIONS)
    parser.add_argument("--trials", type=_at_least_one, help="data sets per sampler (150)")
    parser.add_argument("--corpora", type=_at_least_one, help="corpora per row of the table of coverage (15)")
    parser.add_argument("--sweeps", type=_at_least_one, help="of fits in the table of coverage (300)")
    parser.add_argument("--sizes", nargs="+", choices=list(_coverage.SIZES), default=list(_coverage.SIZES))
    parser.add_argument("--quick", action="store_true", help="to see whether all of it runs")
    given = parser.parse_args(arguments)
    usual = (20, 2, 60) if given.quick else (150, 15, 300)
    sizes = given.sizes[:1] if given.quick else given.sizes
    numbers = [own if own is not None else n for own, n in zip((given.trials, given.corpora, given.sweeps), usual,
                                                                strict=True)]  # fmt: skip
    run_sections("reproduce.calibration", arguments, Options(*numbers, sizes), given.sections, PARTS)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"error: {error}")
