"""``demo``: topics of the docstrings on this machine, and what dense estimates gain on documents held out."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicloom.cli._run import Jobs, say
from topicloom.cli._tables import Output, columns_of, show_table
from topicloom.errors import StorageError, counted

if TYPE_CHECKING:
    from topicloom._types import FloatArray
    from topicloom.corpus import Corpus
    from topicloom.models import LDA

_EVERY = 10  # one document in ten is held out
_ESTIMATORS = {"standard": "standard", "cgs_p": "CGS_p"}


def demo(
    output: Output,
    topics: Annotated[int, typer.Option("--topics", "-k", help="Number of topics.")] = 30,
    sweeps: Annotated[int, typer.Option("--sweeps", "-n", help="Sweeps over the corpus.")] = 400,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers; the same seed gives the same model.")] = 0,
    page: Annotated[Path, typer.Option(help="The page to write.", metavar="FILE")] = Path("topicloom-demo.html"),
    jobs: Jobs = -1,
) -> None:
    """Fit a model to text that is on every machine, compare two estimators, and write a page about it.

    The texts are the docstrings of Python and of the packages that topicloom needs. Nothing is downloaded.
    """
    import numpy as np

    from topicloom import datasets
    from topicloom.models import LDA

    started = time.perf_counter()
    say("reading the docstrings of Python and of scientific packages (some seconds at the first time) …")
    corpus = datasets.docstrings()
    held = np.arange(corpus.n_docs) % _EVERY == _EVERY - 1
    training, held_out = corpus.select(~held), corpus.select(held)
    say(f"{training!r}; held out: {counted(held_out.n_docs, 'documents')}.")
    model = LDA(topics, max_iter=sweeps, random_state=seed, n_jobs=jobs, verbose=1).fit(training)
    if model.interrupted_:
        say(f"interrupted after sweep {model.n_iter_}; what follows comes from the sweeps done.")
    described = describe_topics(model, training)
    scores = compare(model, held_out, jobs)
    written = write_page(model, page)
    seconds = time.perf_counter() - started
    about: dict[str, Any] = {"documents": training.n_docs, "held_out": held_out.n_docs, "words": corpus.n_words}
    about |= {"sweeps": model.n_iter_, "seconds": seconds, "page": written}

    def shown() -> None:
        _show(described, scores)
        if written is not None:
            typer.echo(f"The topics, their words and documents to look at: {written}")
        typer.echo(f"{seconds:.0f} s in all. Your own texts: topicloom fit texts.txt --out model --stop-words english")

    lines = [topic | {"words": " ".join(topic["words"])} for topic in described]
    output.show(columns_of(lines), shown, {**about, "topics": described, **scores})


def write_page(model: "LDA", page: Path) -> str | None:
    """Write the explorer's page and return its place. If it cannot be written, report that and return None."""
    from topicloom.explore import explore

    try:
        return explore(model, page, title="Docstrings of Python and of scientific packages").resolve().as_uri()
    except StorageError as error:
        say(f"{error} Name another place with --page.")
        return None


def describe_topics(model: "LDA", corpus: "Corpus", n_words: int = 8) -> list[dict[str, Any]]:
    """Topics from the largest to the smallest, each with its best words and the group it is most typical of."""
    import numpy as np

    assert corpus.groups is not None
    names = sorted({str(group) for group in corpus.groups})
    group = np.array([names.index(str(g)) for g in corpus.groups])
    weight = model.doc_topic_ * corpus.doc_lengths[:, None]
    by_group = np.zeros((len(names), weight.shape[1]))
    np.add.at(by_group, group, weight)
    size = by_group.sum(axis=0)
    given_topic = by_group / size
    overall = by_group.sum(axis=1, keepdims=True) / size.sum()
    # A group is typical of a topic if it is frequent there, and more so than elsewhere.
    typical = np.argmax(given_topic * np.log(np.maximum(given_topic, 1e-300) / overall), axis=0)
    words = model.top_words(min(n_words, corpus.n_words))
    return [
        {
            "topic": int(k),
            "share": float(size[k] / size.sum()),
            "words": words[k],
            "package": names[typical[k]],
            "package_share": float(given_topic[typical[k], k]),
        }
        for k in np.argsort(-size, kind="stable")
    ]


def compare(model: "LDA", held_out: "Corpus", jobs: int) -> dict[str, Any]:
    """Held-out perplexity of the four pairs of estimators, one sample each, and coherence of both φ."""
    from topicloom import evaluation

    by_name: dict[str, FloatArray] = {}
    by_name["standard"] = model.estimate("standard")[1]
    by_name["cgs_p"] = model.estimate("cgs_p")[1]
    table = evaluation.completion_perplexities(
        by_name["standard"], by_name["cgs_p"], model.alpha_, held_out, seed=model.seed_, n_jobs=jobs
    )
    n_words = min(10, len(model.vocabulary_))
    coherence = {
        name: float(evaluation.coherence(phi, model.corpus_, n_words=n_words).mean()) for name, phi in by_name.items()
    }
    return {
        "perplexity": [{"phi": phi, "theta": theta, "perplexity": value} for (phi, theta), value in table.items()],
        "coherence_c_npmi": coherence,
    }


def _show(described: list[dict[str, Any]], scores: dict[str, Any]) -> None:
    show_table(
        "Topics, the largest first",
        [("topic", True), ("share", True), ("words", False), ("most typical of", False)],
        [
            [str(t["topic"]), f"{t['share']:.1%}", " ".join(t["words"]), f"{t['package']} ({t['package_share']:.0%})"]
            for t in described
        ],
    )
    value = {(row["phi"], row["theta"]): row["perplexity"] for row in scores["perplexity"]}
    show_table(
        "Perplexity of the documents held out, one sample each (lower is better)",
        [("", False), *((f"θ {name}", True) for name in _ESTIMATORS.values())],
        [[f"φ {name}", *(f"{value[phi, theta]:.1f}" for theta in _ESTIMATORS)] for phi, name in _ESTIMATORS.items()],
    )
    plain, dense = value["standard", "standard"], value["cgs_p", "cgs_p"]
    lower, by = ("CGS_p", 1 - dense / plain) if dense < plain else ("standard", 1 - plain / dense)
    coherence = scores["coherence_c_npmi"]
    shown = {name: f"{mean:.4f}" for name, mean in coherence.items()}
    higher = _ESTIMATORS[max(coherence, key=lambda name: coherence[name])]
    verdict = "no difference" if shown["standard"] == shown["cgs_p"] else f"{higher} is higher"
    typer.echo(
        f"{lower} is lower by {by:.1%} (standard {plain:.1f}, CGS_p {dense:.1f}), from the same sample.\n"
        f"Coherence (NPMI) of the topics: standard {shown['standard']}, CGS_p {shown['cgs_p']}; {verdict}."
    )
