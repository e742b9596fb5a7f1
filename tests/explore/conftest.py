"""A small model of texts with ids, times and groups, and the data of its page."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicloom
from topicloom.explore import payload
from topicloom.explore.page import unpack
from topicloom.explore.source import Source, read_model

THEMES = (
    "goal match team coach League", "vote law party court Électeur", "atom quark field energy Größe",
    "river bank fish boat 水域",
)  # fmt: skip
N_DOCS = 80


def texts() -> list[str]:
    rng = np.random.default_rng(5)
    found = []
    for d in range(N_DOCS):
        words = THEMES[d % 4].split() * 3 + THEMES[(d + 1) % 4].split()
        found.append(", ".join(rng.choice(words, int(rng.integers(8, 30)))) + ".")
    found[7] = ""
    return found


@pytest.fixture(scope="session")
def corpus() -> topicloom.Corpus:
    return topicloom.from_texts(
        texts(),
        ids=[f"doc {d}" for d in range(N_DOCS)],
        times=[1990 + d % 5 for d in range(N_DOCS)],
        groups=["left" if d % 3 else "right" for d in range(N_DOCS)],
    )


@pytest.fixture(scope="session")
def model(corpus: topicloom.Corpus) -> Any:
    return topicloom.LDA(
        4, max_iter=40, n_chains=2, trace_every=2, sampler="dense", doc_topic_prior=0.1, topic_word_prior=0.05,
        random_state=2,
    ).fit(corpus)  # fmt: skip


@pytest.fixture(scope="session")
def source(model: Any) -> Source:
    return read_model(model)


@pytest.fixture(scope="session")
def data(source: Source) -> dict[str, Any]:
    return payload(source, texts=texts())


@pytest.fixture(scope="session")
def core(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = data["data-core"]
    return found


def blocks_of(page: Path) -> dict[str, Any]:
    """The data blocks of a written page, unpacked."""
    found = re.findall(
        r'<script type="application/json\+gzip" id="([\w-]+)">([\w+/=]*)</script>', page.read_text("utf-8")
    )
    return {name: unpack(text) for name, text in found}


def as_browser(value: Any) -> Any:
    """The data as a browser reads them: through JSON."""
    return json.loads(json.dumps(value, allow_nan=False))
