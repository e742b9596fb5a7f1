"""What pages say in words is what their tables, the code and the stored results say in numbers."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # reproduce/ is not part of the installed package

from reproduce import _multipath_sotu
from topicloom import CompoundLDA, MedLDAClassifier, VariationalLDA
from topicloom.errors import InputError
from topicloom.lda.gibbs import by_word, dense, sparse
from topicloom.lda.variational.sampler import ALL_MODES
from topicloom.lda.variational.stochastic import STOCHASTIC_MODES

ROOT = Path(__file__).parents[2]


def page(name: str) -> str:
    """A page's text with blanks in place of line breaks within paragraphs."""
    return re.sub(r"(?<!\n)\n(?![\n|#-])\s*", " ", (ROOT / "docs" / name).read_text(encoding="utf-8"))


def tables(name: str, folder: str = "docs") -> list[list[list[str]]]:
    """The tables of a page: rows of cells, without the line under the header."""
    found: list[list[list[str]]] = [[]]
    for line in (ROOT / folder / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            if not re.fullmatch(r"[|:\- ]+", line):
                found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        elif found[-1]:
            found.append([])
    return [rows for rows in found if rows]


def verdict_of(name: str, claim: str) -> str:
    """The verdict that a paper's page has on a claim."""
    (verdict,) = (row[-1] for row in tables(f"papers/{name}.md")[0] if row[0] == claim)
    return verdict


def number(cell: str) -> float:
    return float(re.match(r"\**([-−+]?[\d.]+)", cell)[1].replace("−", "-"))  # type: ignore[index]


# -- other tools, modes ------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_fractional_counts_and_streams_are_where_the_pages_say() -> None:
    fractions = np.random.default_rng(0).random((8, 6)) * 3
    refused = {"gibbs"}
    for mode in ALL_MODES:
        try:
            VariationalLDA(2, method=mode, max_iter=2, random_state=0).fit(fractions)
        except InputError:
            refused.add(mode)
    assert refused == {"gibbs", "cvb_exact"}
    assert '`VariationalLDA` with any `method` but `"cvb_exact"`; that and `LDA` need whole counts' in page(
        "guide/migrating.md"
    )
    assert STOCHASTIC_MODES == ("scvb0", "svb")
    streams = '`method="svb"` or `"scvb0"`'
    assert f"| `partial_fit(X)` | the same, of `VariationalLDA` with {streams} |" in page("guide/migrating.md")
    assert f"| `update(new)` | `partial_fit(new)`, of `VariationalLDA` with {streams} |" in page("guide/migrating.md")
    assert "which have `batch_size`, `learning_decay` and `partial_fit`" in page("guide/lda.md")
    for name in ("guide/migrating.md", "guide/lda.md"):
        assert not re.search(r"no `?partial_fit|there is no .*update", page(name))


def test_bounds_of_cvb_may_fall_and_the_pages_say_so() -> None:
    counts = np.random.default_rng(3).poisson(0.4, (40, 30))
    counts[:, 0] += 1
    falls = set()
    for mode in ("cvb", "cvb0", "vb"):
        for seed in range(3):
            priors = {"doc_topic_prior": 0.1, "topic_word_prior": 0.1}
            steps = {"max_iter": 150, "tol": 0, "trace_every": 1, "random_state": seed}
            model = VariationalLDA(8, method=mode, **priors, **steps).fit(counts)
            if np.any(np.diff(model.trace_.log_joint) < -1e-6):
                falls.add(mode)
    assert falls == {"cvb", "cvb0"}
    assert "The bound of `cvb` and `cvb0` may fall" in page("guide/variational.md")
    assert 'may fall between records with `"cvb"` and `"cvb0"`' in page("guide/lda.md")


def test_errata_count_their_papers() -> None:
    papers = re.findall(r"^## ", (ROOT / "docs" / "papers/errata.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(papers) == 5
    assert "All five papers are implemented." in page("papers/errata.md")


def test_errata_name_tests_that_exist() -> None:
    text = (ROOT / "docs" / "papers/errata.md").read_text(encoding="utf-8")
    named = re.findall(r"^\d+\. `(tests/[\w/]+\.py)`(?:: `(test_\w+)`)?$", text, flags=re.MULTILINE)
    assert len(named) > 20
    for file, test in named:
        source = (ROOT / file).read_text(encoding="utf-8")
        assert not test or f"def {test}(" in source, f"{file} has no {test}"


VERDICTS = ("holds", "does not hold", "cannot be decided")


def test_pages_of_papers_open_with_verdicts_which_the_index_counts() -> None:
    counted = {}
    for row in tables("papers/index.md")[0][1:]:
        link = re.search(r"\]\((\w+\.md)\)", row[4])
        counted[link[1]] = row[3]  # type: ignore[index]
    pages = {path.name for path in (ROOT / "docs" / "papers").glob("*.md")}
    assert set(counted) == pages - {"index.md", "calibration.md", "errata.md"}
    for name, counts in counted.items():
        claims = tables(f"papers/{name}")[0]
        assert claims[0] == ["claim", "paper", "ours", "scale: paper / ours", "verdict"]
        assert all(len(row) == 5 and row[-1] in VERDICTS for row in claims[1:]), name
        assert counts == " / ".join(str(sum(row[-1] == verdict for row in claims[1:])) for verdict in VERDICTS), name


def test_the_first_table_of_calibration_is_that_of_coverage_in_short() -> None:
    found_tables = tables("papers/calibration.md")
    short = found_tables[0]
    (coverage,) = (table for table in found_tables if table[0][0] == "setting")
    found = {}
    for setting, interval, _, *cells in coverage[1:]:
        if "plain quantiles" not in interval and "last sample" not in interval:
            found.setdefault((setting, interval), []).extend(number(cell) for cell in cells)
    expected = [
        [f"{min(rates):.1f} to {max(rates):.1f}%", f"{sum(85 <= rate <= 95 for rate in rates)} of {len(rates)}"]
        for rates in found.values()
    ]
    assert [row[1:] for row in short[1:-2]] == expected
    (stability,) = (table for table in found_tables if table[0][0] == "other runs")
    rates = [number(row[2]) for row in stability[1:]]
    assert short[-1][1] == f"{min(rates)} to {max(rates)}%"


# -- samplers ----------------------------------------------------------------------------------------------------------


def test_the_formulas_by_which_auto_chooses_are_those_in_the_code() -> None:
    text = page("performance/samplers.md")
    assert f"| `dense` | {dense.TOKEN_COST:g} + ({dense.TOPIC_COST:g} + {dense.FAR_COST:g} F) K |" in text
    assert f"| `sparse` | {sparse.TOKEN_COST:g} + {sparse.ENTRY_COST:g} L |" in text
    assert (
        f"| `words` | {by_word.TOKEN_COST:g} + {by_word.TOPIC_COST:g} T, and {by_word.ENTRY_COST:g} per entry" in text
    )


def test_what_auto_loses_is_what_the_measurements_say() -> None:
    (rows,) = tables("crossover.md", "benchmarks/results")
    losses, names = [], ("dense", "sparse", "words")
    for *_, dense_ns, sparse_ns, words_ns, took, _ in rows[1:]:
        times = [float(dense_ns), float(sparse_ns), float(words_ns)]
        losses.append(times[names.index(took)] / min(times) - 1)
    text = page("performance/samplers.md")
    assert f"quickest one in {sum(loss == 0 for loss in losses)} of the {len(losses)} states" in text
    assert f"loses more than 5% in {sum(loss > 0.05 for loss in losses)}" in text
    assert f"{max(losses):.0%} at worst" in text
    assert f"{np.mean(losses):.1%} on average" in text


# -- reproductions -----------------------------------------------------------------------------------------------------


def test_what_paths_gain_is_what_the_tables_say() -> None:
    gains = [[number(cell) for cell in row[1:]] for rows in tables("papers/multipath.md") for row in rows
             if row[0] == "five below one"]  # fmt: skip
    assert len(gains) == 2
    (low, high), (least, most) = ((min(own), max(own)) for own in gains)
    assert f"fall by {low:.0f} to {high:.0f}% with five paths at η = 0.7" in page("guide/multipath.md")
    assert f"they change by −{most:.0f} to +{-least:.0f}%" in page("guide/multipath.md")


def test_the_table_of_addresses_is_of_the_form_that_the_command_prints() -> None:
    budget = _multipath_sotu.Budget()
    (rows,) = (rows for rows in tables("papers/multipath.md") if rows[0][0] == "paths, seed")
    assert rows[0] == _multipath_sotu.HEADER
    assert [row[0] for row in rows[1:]] == [f"{m}, {seed}" for m in budget.paths for seed in budget.seeds]
    text = page("papers/multipath.md")
    assert f"T = {budget.n_topics}, η = 0.01, α = {10 / budget.n_topics:g}, {budget.sweeps} sweeps" in text


def test_who_converges_first_is_what_the_tables_of_cvb_say() -> None:
    ends = [rows for rows in tables("papers/cvb.md") if rows[0][0] == "at the end"]
    text = page("papers/cvb.md")
    assert len(ends) == 2
    claims = {row[0]: row[2] for row in tables("papers/cvb.md")[0]}
    for corpus, rows in zip(("kos", "nips"), ends, strict=True):
        took = {row[0]: int(row[3]) for row in rows[1:]}
        assert took["CVB"] > took["VB, one round"] > took["VB"]
        line = f"{corpus}: CVB {took['CVB']}, VB {took['VB']}, one round {took['VB, one round']}"
        assert line in claims["CVB converges faster than VB"]
        assert took["Gibbs"] == max(took.values())
        assert f"{corpus}: CVB {took['CVB']}, Gibbs {took['Gibbs']}" in claims["CVB converges faster than Gibbs"]
        final = {row[0]: row[2].split()[0] for row in rows[1:]}
        line = f"{corpus} {final['Gibbs']}, CVB {final['CVB']}"
        assert line in claims["Gibbs ends with the best test probability"]
    assert "by 0.0141 per token (kos), in 8 of 10 runs" in claims["CVB has a higher test probability than VB"]
    assert "on kos two of the ten seeds put CVB below VB" in text
    assert verdict_of("cvb", "CVB converges faster than VB") == "does not hold"
    shares = []
    for rows in ends:
        value = {row[0]: [re.findall(r"[-\d.]+", cell) for cell in row[1:3]] for row in rows[1:4]}
        for what in (0, 1):
            gap = float(value["CVB"][what][0]) - float(value["VB"][what][0])
            shares.append(sorted(round(100 * float(value[m][what][1]) / gap) for m in ("VB", "CVB")))
    bound_kos, test_kos, bound_nips, test_nips = (f"{low} to {high}%" for low, high in shares)
    assert f"in the bound {bound_kos} (kos) and {bound_nips} (nips)" in text
    assert f"in test log probability {test_kos} (kos) and {test_nips} (nips)" in text


def test_macro_f_falls_short_as_the_tables_of_labels_say() -> None:
    macro = [rows for rows in tables("papers/prior_lda.md") if rows[0][1:2] == ["printed"]][1::3]
    text = page("papers/prior_lda.md")
    assert len(macro) == 2
    for rows, shares in zip(macro, ("5 to 21%", "15 to 20%"), strict=True):
        gaps = {}
        for row in rows[1:]:
            bold = [cell for cell in row if cell.startswith("**")]
            if bold:  # the four Gibbs forms
                gaps[row[0]] = (number(row[1]) - number(bold[0]), number(row[1]))
        many = [gap for name, gap in gaps.items() if name.startswith("5 × 30")]
        considered = many if shares == "15 to 20%" else list(gaps.values())
        assert f"by {min(gap for gap, _ in many):.3f} to {max(gap for gap, _ in many):.3f}" in text
        ratios = [round(100 * gap / printed) for gap, printed in considered]
        assert f"{min(ratios)} to {max(ratios)}%" == shares
        assert shares in text


def test_runs_that_were_stuck_are_told_with_what_became_of_them() -> None:
    text = page("papers/hmm.md")
    (table,) = (rows for rows in tables("papers/hmm.md") if rows[0][0] == "run")
    ends = {name: [number(row[c]) for row in table[1:-1]] for c, name in enumerate(table[0]) if c}
    stuck = {name: sum(value < -320 for value in values) for name, values in ends.items()}
    assert stuck == {"C1": 7, "C5": 7, "PC1": 8, "PC5": 8, "BW": 7}
    assert f"five of the {['', 'one', 'two', 'three', 'four', 'five', 'six', 'seven'][stuck['C1']]} runs" in text
    assert "2,000 sweeps" in text
    short = {row[0]: row for rows in tables("papers/hmm.md") for row in rows}
    assert [int(cell) for cell in short["runs on the plateau"][1:]] == list(stuck.values())
    assert [int(short[name][1]) for name in ("C1", "C5")] == [stuck["C1"], stuck["C5"]]
    others = [np.median([value for value in values if value > -320]) for values in ends.values()]
    assert [number(cell) for cell in short["median of the others"][1:]] == pytest.approx(others)
    medians = {name: cell.strip("*").replace("-", "−") for name, cell in zip(table[0], table[-1], strict=True)}
    assert f"medians {medians['C5']} and {medians['C1']};" in text
    assert f"medians {medians['PC5']} and {medians['PC1']}," in text


def test_accuracy_of_light_medlda_is_what_its_tables_say() -> None:
    claims, two, twenty = tables("papers/light_medlda.md")[:3]
    text = page("papers/light_medlda.md")
    about_80, at_100 = claims[1:3]
    up_to_80 = [number(cell) for row in two[1:-1] for cell in (row[1], row[3])]
    assert about_80[0] == "Two classes: accuracy about 0.80 with both samplers, K up to 80"
    assert [about_80[2], about_80[-1]] == [f"{min(up_to_80):.2f} to {max(up_to_80):.2f}", "holds"]
    below = two[-1]
    assert at_100[0] == "The same at K = 100"
    assert [at_100[2], at_100[-1]] == [f"{below[1]} and {below[3]}", "does not hold"]
    behind = [f"{twenty[1][1]} (`mh`) and {twenty[1][3]} (`dense`)", "the same", "does not hold"]
    assert ["The same at K = 20", "figure 2", *behind] in claims
    for setting in (
        "α = 6.4/K, β = 0.01",
        "ν = (λ/1.6)²",
        "means over the last five sweeps",
        "20 sweeps, then 5 samples",
    ):
        assert setting in text


def test_known_weaknesses_are_warned_of() -> None:
    for text in (page("guide/medlda.md"), MedLDAClassifier.__doc__ or ""):
        assert re.search(r"Warning: (\*\*)?(a class with few documents|lost classes)", text)
        assert "LostClassesWarning" in text
    for text in (page("guide/compound.md"), CompoundLDA.prevalence.__doc__ or ""):
        assert re.search(r"Too narrow\s+are[\s\S]* not\s+converged", text)
        assert "papers/calibration.md" in text
