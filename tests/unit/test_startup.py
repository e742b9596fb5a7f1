"""What a process imports before its first sweep: nothing that a fit does not need, since users wait for it."""

import subprocess
import sys

import pytest
from benchmarks import startup

CODE = """
import sys
import numpy as np
import topicloom
from topicloom import *

HEAVY = ("sklearn", "scipy.stats", "scipy.optimize", "scipy.spatial", "pandas", "pyarrow", "polars", "narwhals", "rich")

class Enough(Exception):
    pass

def stop(chain):  # after one sweep: what models of labels do once they have sampled may import what it needs
    raise Enough

corpus = from_matrix(np.array([[2, 0, 1], [0, 3, 1], [1, 1, 0], [4, 0, 0]]))
csr = corpus.to_matrix()
quick, classes = dict(max_iter=2, random_state=0), ["a", "b", "b", "a"]
fits = {
    "corpus": lambda: LDA(2, **quick).fit(corpus).topic_word_,
    "csr": lambda: LDA(2, **quick).fit(csr).transform(csr),
    "array": lambda: LDA(2, max_iter=2).fit(csr.toarray()).doc_topic_,
    "texts": lambda: LDA(2, **quick).fit(["one two two", "two three three one"]),
    "cvb0": lambda: LDA(2, inference="cvb0", tol=0, **quick).fit(corpus),
    "collections": lambda: CompoundLDA(2, **quick).fit(corpus, groups=classes),
    "hmm": lambda: HMM(2, **quick).fit([[0, 1, 1, 0], [1, 0]]),
    "labels": lambda: PriorLDA(burn_in=None, **quick).fit(corpus, [["a"], ["b"], ["a", "b"], ["a"]], callbacks=[stop]),
    "classes": lambda: MedLDAClassifier(2, burn_in=None, **quick).fit(corpus, classes, callbacks=[stop]),
    "numbers": lambda: MedLDARegressor(2, burn_in=None, **quick).fit(corpus, np.arange(4.0), callbacks=[stop]),
}
for name, fit in fits.items():
    try:
        fit()
    except Enough:
        pass
    print(name, [module for module in HEAVY if module in sys.modules])
"""


def test_nothing_heavy_is_imported_before_sweeps_are_done() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 10
    assert [line for line in lines if not line.endswith(" []")] == []


def test_the_benchmark_of_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    imported, begun, swept, fitted = startup.seconds("csr", 3)
    assert 0 < imported < begun < swept < fitted
    caches = []
    monkeypatch.setattr(startup, "seconds", lambda given, n, cache: caches.append(cache) or [1.0, 2.0, 3.0, 4.0 * n])
    startup.main(["--topics", "2", "--input", "csr", "--rounds", "3"])
    assert len(caches) == 4
    assert len(set(caches)) == 1
    assert "| full | 2 | csr | 1.00 | 2.00 | 3.00 | 8.00 |" in capsys.readouterr().out
