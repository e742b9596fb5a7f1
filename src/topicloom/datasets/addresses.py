"""Passages of the State of the Union addresses: real, dated text that comes with the package."""

import gzip
import json
from importlib.resources import files
from typing import Any

import numpy as np

from topicloom.corpus.corpus import Corpus
from topicloom.corpus.text import from_texts

_FILE = "addresses.jsonl.gz"


def addresses(**text_options: Any) -> Corpus:
    """Passages of 128 State of the Union addresses, 1790 to 2020, with year and party.

    Each document is a passage of some 6,000 characters from one address. The texts are in the public domain. The same
    corpus is made on every machine.

    Parameters
    ----------
    **text_options
        Options of :func:`topicloom.from_texts`. By default English function words are left out, and words that are in
        fewer than 3 documents or in more than half of them.

    Returns
    -------
    Corpus
        ``ids`` are year and president, ``times`` the years, ``groups`` the parties, and ``texts`` the passages.

    Examples
    --------
    >>> from topicloom import datasets
    >>> corpus = datasets.addresses()
    >>> corpus.ids[-1], corpus.groups[-1], int(corpus.times[-1])
    ('2020 Donald Trump', 'Republican', 2020)
    """
    rows = [json.loads(line) for line in gzip.decompress(files(__package__).joinpath(_FILE).read_bytes()).splitlines()]
    options = {"stop_words": "english", "min_df": 3, "max_df": 0.5, **text_options}
    return from_texts(
        (row["text"] for row in rows),
        ids=[row["id"] for row in rows],
        groups=[row["party"] for row in rows],
        times=np.array([row["year"] for row in rows]),
        **options,
    )
