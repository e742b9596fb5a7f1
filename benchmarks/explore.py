"""Size of the explorer page, and the time to write it, without the fit.

    python -m benchmarks.explore --data DIR [--cases news20 all nothing sotu compound hmm synthetic] [--sweeps 20]
                                 [--out FOLDER]

Cases: news20 with texts and K = 100, with the documents that a page has by default ("news20"), with all ("all") and
without ("nothing"); State of the Union addresses with texts and years (sotu); a compound model of them (compound); a
hidden Markov model of the Brown corpus's words (hmm); 200,000 synthetic documents (synthetic). Sizes hardly depend on
the number of sweeps, so there are few. ``--out`` keeps the pages. Seconds are of processor time, after a first page
that has compiled everything.
"""

import argparse
import gzip
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import machine, need_files, table, timed, without_paths
from topicloom import HMM, LDA, CompoundLDA, Corpus, datasets, from_texts
from topicloom.errors import InputError
from topicloom.explore import explore
from topicloom.explore.page import render
from topicloom.explore.source import read_model

SEED = 1
N_SYNTHETIC = 200_000
NEEDED = [
    *((case, "news20", "texts.jsonl.gz") for case in ("nothing", "news20", "all")),
    *((case, "sotu", "texts.jsonl.gz") for case in ("sotu", "compound")),
    ("hmm", "brown", "words.txt"),
    ("hmm", "brown", "tokens.npz"),
]  # case, corpus, file


def records(data: Path, name: str) -> list[dict[str, Any]]:
    with gzip.open(data / name / "texts.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def news20(data: Path) -> tuple[Corpus, list[str]]:
    found = records(data, "news20")
    texts = [record["text"] for record in found]
    groups = [record["label"] for record in found]
    ids = [record["id"] for record in found]
    return from_texts(texts, stop_words="english", min_df=5, max_df=0.5, groups=groups, ids=ids), texts


def sotu(data: Path, groups: bool = False) -> tuple[Corpus, list[str]]:
    found = records(data, "sotu")
    texts, years = [record["text"] for record in found], [record["year"] for record in found]
    ids = [record["id"] for record in found]
    more: dict[str, Any] = {"groups": [year // 10 * 10 for year in years]} if groups else {"times": years}
    return from_texts(texts, stop_words="english", min_df=3, ids=ids, **more), texts


def lda(corpus: Corpus, n_topics: int, sweeps: int) -> Any:
    return LDA(n_topics, max_iter=sweeps, topic_word_prior=0.01, random_state=SEED).fit(corpus)


def brown(data: Path, sweeps: int, n_words: int = 2000) -> Any:
    """Sentences of the Brown corpus, of its most frequent words."""
    words = (data / "brown" / "words.txt").read_text(encoding="utf-8").split()
    with np.load(data / "brown" / "tokens.npz") as file:
        arrays = {name: file[name] for name in file.files}
    tokens = next(array for name, array in arrays.items() if "word" in name or "token" in name)
    common = set(np.argsort(-np.bincount(tokens), kind="stable")[:n_words].tolist())
    some = [words[v] if v in common else "(rare)" for v in tokens[:100_000].tolist()]
    sequences = [some[i : i + 50] for i in range(0, len(some), 50)]
    return HMM(10, max_iter=sweeps, random_state=SEED).fit(sequences)


def measure(name: str, model: Any, folder: Path, **options: Any) -> list[str]:
    path = folder / f"{name}.html"
    if not path.exists():
        explore(model, path, **options)  # compiles
    seconds = timed(lambda: explore(model, path, **options), "cpu")
    size = path.stat().st_size
    source = read_model(model)
    n_docs = 0 if source.corpus is None else source.corpus.n_docs
    wanted = options.get("documents", 2000)
    shown = n_docs if wanted is None else min(n_docs, wanted)
    each = "" if not shown else f"{(size - len(render('', {}))) / shown:,.0f}"
    return [name, str(source.n_topics), f"{n_docs:,}", f"{shown:,}", f"{size / 1e6:.2f}", each, f"{seconds:.1f}"]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explore", description=__doc__.split("\n\n")[0])
    names = ["nothing", "news20", "all", "sotu", "compound", "hmm", "synthetic"]
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the corpora's folders")
    parser.add_argument("--cases", nargs="+", choices=names, default=names)
    parser.add_argument("--sweeps", type=int, default=20)
    parser.add_argument("--documents", type=int, default=N_SYNTHETIC, help="documents of the synthetic corpus")
    parser.add_argument("--out", type=Path, help="folder to keep the pages in")
    given = parser.parse_args(arguments)
    data, sweeps = given.data, given.sweeps

    def of_news(**options: Any) -> tuple[Any, dict[str, Any]]:
        if "model" not in kept:
            corpus, texts = news20(data)
            kept["model"], kept["texts"] = lda(corpus, 100, sweeps), texts
        return kept["model"], {"texts": kept["texts"], **options}

    def of_speeches(groups: bool) -> tuple[Any, dict[str, Any]]:
        corpus, texts = sotu(data, groups)
        model = CompoundLDA(40, max_iter=sweeps, random_state=SEED).fit(corpus) if groups else lda(corpus, 40, sweeps)
        return model, {"texts": texts}

    kept: dict[str, Any] = {}
    cases: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {
        "nothing": lambda: of_news(documents=0),
        "news20": of_news,
        "all": lambda: of_news(documents=None),
        "sotu": lambda: of_speeches(False),
        "compound": lambda: of_speeches(True),
        "hmm": lambda: (brown(data, sweeps), {}),
        "synthetic": lambda: (lda(datasets.synthetic_lda(given.documents, 20_000, 100).corpus, 100, 5), {}),
    }
    for case, needed, file in NEEDED:
        if case in given.cases:
            need_files(data, [needed], file)
    print(f"`python -m benchmarks.explore {without_paths(arguments)}`\n\n{machine()}\n", flush=True)
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in given.cases:
            model, options = cases[name]()
            rows.append(measure(name, model, folder, **options))
            print(rows[-1], file=sys.stderr, flush=True)
    print(table(["case", "K", "documents", "in the page", "MB", "bytes per document", "seconds"], rows))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"error: {error}")
