"""MALLET's state file."""

import random
from pathlib import Path

from tests.fuzz.mutate import damaged, packed
from tests.fuzz.naive import OURS, Expected, byte_lines, compare, refused, same
from topicloom.mallet import read_state

NAMES = ("river", "bank", "Straße", "x")


def prepare() -> None:
    """Compile the parser once, before there are children."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state"
        path.write_text("#doc source pos typeindex type topic\n#alpha : 1\n#beta : 1\n0 NA 0 0 x 0\n")
        read_state(path)


def write(rng: random.Random, folder: Path) -> None:
    n_topics = rng.randrange(1, 4)
    lines = ["#doc source pos typeindex type topic", "#alpha : " + "0.5 " * n_topics, "#beta : 0.01"]
    for d in range(rng.randrange(1, 4)):
        source = rng.choice(("NA", "a.txt", "my file.txt"))
        for i in range(rng.randrange(1, 4)):
            v = rng.randrange(len(NAMES))
            lines.append(f"{d} {source} {i} {v} {NAMES[v]} {rng.randrange(n_topics)}")
    if rng.random() < 0.2:
        tail = lines[3:]
        rng.shuffle(tail)
        lines[3:] = tail
    content = damaged(rng, "".join(f"{line}\n" for line in lines).encode())
    (folder / "state").write_bytes(packed(rng, content))


def attempt(folder: Path) -> str:
    try:
        found = read_state(folder / "state")
    except OURS as error:
        return refused(error)
    expected, topics, alpha, beta = parse(folder / "state")
    compare(found.corpus, expected)
    same(found.state.z.tolist(), topics, "topics")
    same(found.prior.alpha[0].tolist(), alpha, "alpha")
    same(found.prior.beta.tolist(), [beta] * found.corpus.n_words, "beta")
    return "read"


def parse(path: Path) -> tuple[Expected, list[int], list[float], float]:
    head, tokens = {}, []
    lines = byte_lines(path)
    n_head = next(i for i, line in enumerate(lines) if not line.startswith(b"#"))
    for line in lines[:n_head]:
        name, _, values = line.decode("utf-8", "replace").partition(":")
        head[name.strip()] = values
    for line in lines[n_head:]:
        stripped = line.rstrip(b"\r ")
        if stripped:
            rest, place, index, name, topic = stripped.rsplit(b" ", 4)
            doc, source = rest.split(b" ", 1)
            assert place.isdigit()
            tokens.append((int(doc), source, int(index), name.decode(), int(topic)))
    n_docs, n_words = max(t[0] for t in tokens) + 1, max(t[2] for t in tokens) + 1
    names, raw_sources = [f"<{v}>" for v in range(n_words)], dict[int, bytes]()
    for doc, source, index, name, _ in reversed(tokens):
        names[index], raw_sources[doc] = name, source
    sources = [raw_sources.get(d, b"NA").decode() for d in range(n_docs)]
    by_doc: dict[int, list[tuple[int, bytes, int, str, int]]] = {}
    for token in tokens:
        by_doc.setdefault(token[0], []).append(token)
    documents = [by_doc.get(d, []) for d in range(n_docs)]
    expected = Expected(tokens=[[token[3] for token in document] for document in documents], vocabulary=names)
    expected.ids = None if all(source == "NA" for source in sources) else sources
    topics = [token[4] for document in documents for token in document]
    alpha = [float(value) for value in head["#alpha"].split()]
    (beta,) = map(float, head["#beta"].split())
    return expected, topics, alpha, beta
