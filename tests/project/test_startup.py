"""What a process imports before its first sweep: scikit-learn's base class and nothing else that is heavy."""

import subprocess
import sys

import pytest

from benchmarks import startup

CODE = """
import builtins, sys
import numpy as np
import topicloom as tl

HEAVY = (
    "scipy.stats", "scipy.optimize", "scipy.spatial", "pandas", "pyarrow", "polars", "narwhals", "matplotlib", "rich",
    "typer", "sklearn.linear_model", "sklearn.feature_extraction", "sklearn.model_selection", "topicloom.cli",
    "topicloom.evaluation", "ray",
)

class Enough(Exception):
    pass

def stop(chain):  # after one sweep: what models of labels do once they have sampled may import what it needs
    raise Enough

corpus = tl.from_matrix(np.array([[2, 0, 1], [0, 3, 1], [1, 1, 0], [4, 0, 0]]))
csr = corpus.to_matrix()
print("data", [module for module in ("sklearn", *HEAVY) if module in sys.modules])

import sklearn.base  # which itself imports pandas and pyarrow, where they are installed, and much of SciPy

theirs, asked, plain_import = set(sys.modules), set(), builtins.__import__

def watched(name, names=None, *more):  # notes what our own modules ask for, be it there already or not
    if names is not None and str(names.get("__name__")).startswith("topicloom"):
        asked.add(name)
    return plain_import(name, names, *more)

builtins.__import__ = watched
quick, classes = dict(max_iter=2, random_state=0), ["a", "b", "b", "a"]
sets, one = [["a"], ["b"], ["a", "b"], ["a"]], dict(burn_in=None, **quick)
fits = {
    "corpus": lambda: tl.LDA(2, **quick).fit(corpus).topic_word_,
    "csr": lambda: tl.LDA(2, **quick).fit(csr).transform(csr),
    "array": lambda: tl.LDA(2, max_iter=2).fit(csr.toarray()).doc_topic_,
    "texts": lambda: tl.LDA(2, **quick).fit(["one two two", "two three three one"]),
    "cvb0": lambda: tl.VariationalLDA(2, method="cvb0", tol=0, **quick).fit(corpus),
    "hmm": lambda: tl.HMM(2, **quick).fit([[0, 1, 1, 0], [1, 0]]),
    "labels": lambda: tl.PriorLDA(**one).fit(corpus, sets, callbacks=[stop]),
    "classes": lambda: tl.MedLDAClassifier(2, **one).fit(corpus, classes, callbacks=[stop]),
    "numbers": lambda: tl.MedLDARegressor(2, **one).fit(corpus, np.arange(4.0), callbacks=[stop]),
    "process": lambda: tl.HDP(2, **quick).fit(corpus),
    "collections": lambda: tl.CompoundLDA(2, **quick).fit(corpus, groups=classes),
}
for name, fit in fits.items():
    try:
        fit()
    except Enough:
        pass
    found = {module for module in asked | (set(sys.modules) - theirs) if module.startswith(HEAVY)}
    print(name, sorted(module for module in found if module.count(".") < 2))
"""


def test_nothing_heavy_is_imported_before_sweeps_are_done() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 12
    *others, collections = lines
    assert [line for line in others if not line.endswith(" []")] == []
    assert collections == "collections ['topicloom.evaluation']"  # which compares their mixtures


def test_the_benchmark_of_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    imported, begun, swept, fitted = startup.seconds("csr", 3)
    assert 0 < imported < begun < swept < fitted
    caches = []
    monkeypatch.setattr(startup, "seconds", lambda given, n, cache: caches.append(cache) or [1.0, 2.0, 3.0, 4.0 * n])
    startup.main(["--topics", "2", "--input", "csr", "--rounds", "3"])
    assert len(caches) == 4
    assert len(set(caches)) == 1
    assert "| full | 2 | csr | 1.00 | 2.00 | 3.00 | 8.00 |" in capsys.readouterr().out
