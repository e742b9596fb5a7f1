"""Words and cells for files of texts."""

import random

WORDS = ("river", "bank", "Straße", "naïve", "cafe\u0301", "東京", "x", "42", "a-b", "😀", "ﬁ", "it's")


_GROUPS = (
    "g",
    "h",
    "1999",
    "1999",
    "2.5",
    "007",
    "2020-01-31",
    "2020-05-01T10:00:00+02:00",
    "0001-01-01T00:00:00+14:00",
)


def text(rng: random.Random) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randrange(5)))


def record(rng: random.Random) -> dict[str, object]:
    """A row of a table with all roles, times of one kind."""
    return {
        "text": text(rng),
        "id": f"d{rng.randrange(20)}",
        "label": rng.choice(("", "news", "news sport", '["a b", "c"]')),
        "group": rng.choice(_GROUPS),
        "response": rng.choice(("1", "-2.5", "1e3")),
        "time": rng.choice(("1999", "2000", "2001")),
    }
