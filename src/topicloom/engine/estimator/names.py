"""Names that a user gives to topics: what they may be, how topics are found by them, and files of them."""

import json
import os
import unicodedata
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from topicloom.corpus._checks import NOT_ENCODABLE, check_whole, is_encodable, shown
from topicloom.errors import InputError, StorageError, TopicNamesWarning, counted, warn

Names = tuple[str | None, ...]
Topic = int | str  # its number or its name

_LONGEST = 500  # characters of a name
_FILE = "topic names"  # what the explorer's files say that they are
_FORMS = (
    "give a list with a name per topic, a dict such as {3: 'space'}, or the path of a JSON file that the explorer wrote"
)


class SavedNames(NamedTuple):
    """Names, and the chain whose topics have them."""

    chain: int
    topics: Names

    def to_json(self) -> dict[str, Any]:
        return {"chain": self.chain, "topics": list(self.topics)}

    @classmethod
    def from_manifest(cls, manifest: Mapping[str, Any]) -> "SavedNames | None":
        """Names in a manifest, whose types have been checked."""
        found = manifest.get("names")
        return None if found is None else cls(found["chain"], tuple(found["topics"]))


class NamedTopics:
    """A fitted model whose topics, or states, can be given names. Results do not depend on them."""

    best_chain_: int
    _topic_names: Names | None = None

    # -- what a model says ---------------------------------------------------------------------------------------

    def _n_named(self) -> int:
        """How many topics or states there are."""
        raise NotImplementedError

    def _own_names(self) -> Names:
        """Names that topics have if nobody gives them others."""
        return (None,) * self._n_named()

    def _label_words(self, n_words: int) -> list[list[str]]:
        """Of each topic, the words that tell it from others."""
        raise NotImplementedError

    def _names_key(self) -> str:
        """What tells this model from others, in files of names."""
        raise NotImplementedError

    # -- names ---------------------------------------------------------------------------------------------------

    @property
    def topic_names_(self) -> Names:
        """Name of each topic, None where there is none (tuple of str or None). See ``set_topic_names``."""
        check_is_fitted(self, "seed_")
        own = self._own_names()
        given = self._topic_names or (None,) * len(own)
        return tuple(mine if name is None else name for name, mine in zip(given, own, strict=True))

    def set_topic_names(self, names: Any, *, any_model: bool = False) -> Self:
        """Give names to topics. Tables, plots and the explorer show them, ``save`` keeps them, and no number changes.

        Parameters
        ----------
        names : sequence of str, dict, path or None
            * a sequence: the name of each topic, None for one without;
            * a dict: names by topic, which is given by its number or its present name. Other topics keep theirs, and
              None takes a name away;
            * the path of a JSON file: one that the explorer exported, or one that holds such a list or dict;
            * None takes all names away.
        any_model : bool, default=False
            Whether to take an exported file of another model. Topic numbers of two models have nothing in common.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If there is no such topic, two topics would have one name, or the file is of another model.

        Examples
        --------
        >>> from topicloom import LDA
        >>> from topicloom.datasets import bars
        >>> model = LDA(4, max_iter=10, random_state=0).fit(bars(side=2, n_docs=30).corpus)
        >>> model.set_topic_names({1: "upper row"}).topic_names_
        (None, 'upper row', None, None)
        """
        check_is_fitted(self, "seed_")
        if isinstance(names, str | os.PathLike):
            names = _read_file(Path(names), self._names_key(), any_model)
        n = self._n_named()
        given = _by_number(names, n, self._topic_names or (None,) * n, self.topic_names_)
        _check_distinct([mine if name is None else name for name, mine in zip(given, self._own_names(), strict=True)])
        self._topic_names = given if any(name is not None for name in given) else None
        return self

    def topic_labels(self, n_words: int = 3) -> list[str]:
        """A line per topic: its name if it has one, otherwise the words that are most relevant to it (λ = 0.6).

        Parameters
        ----------
        n_words : int, default=3
            Words of a topic that has no name.

        Returns
        -------
        list of str

        Examples
        --------
        >>> from topicloom import LDA, from_texts
        >>> corpus = from_texts(["river bank river", "loan money loan"] * 20)
        >>> model = LDA(2, max_iter=40, doc_topic_prior=0.1, topic_word_prior=0.1, random_state=0).fit(corpus)
        >>> sorted(model.topic_labels(2))
        ['loan money', 'river bank']
        """
        check_whole("n_words", n_words, 1)
        names = self.topic_names_
        if all(name is not None for name in names):
            return [str(name) for name in names]
        words = self._label_words(n_words)
        return [" ".join(best) if name is None else name for name, best in zip(names, words, strict=True)]

    def _topic_number(self, topic: Topic) -> int:
        """The number of a topic that is given by its number or its name."""
        names = self.topic_names_
        if isinstance(topic, str):
            if topic in names:
                return names.index(topic)
            named = ", ".join(repr(name) for name in names if name is not None)
            raise InputError(
                f"no topic is named {shown(topic)}; " + (f"names are {named:.300}." if named else "none is.")
            )
        right = isinstance(topic, int | np.integer) and not isinstance(topic, bool)
        if not right or not 0 <= topic < len(names):
            raise InputError(f"topic {shown(topic)} does not exist; topics are numbered 0 to {len(names) - 1}.")
        return int(topic)

    # -- files and later fits ------------------------------------------------------------------------------------

    def _saved_names(self) -> SavedNames | None:
        return None if self._topic_names is None else SavedNames(self.best_chain_, self._topic_names)

    def _names_part(self) -> dict[str, Any] | None:
        """Names of topics, for the manifest."""
        saved = self._saved_names()
        return None if saved is None else saved.to_json()

    def _keep_names(self, before: SavedNames | None) -> None:
        """Names stay with the chain that has them, if it is still the one that is published."""
        self._topic_names = None
        if before is None:
            return
        if len(before.topics) != self._n_named():
            raise StorageError(
                f"the manifest names {counted(len(before.topics), 'topics')}, and the model has {self._n_named()}. "
                "Restore it from a copy."
            )
        if before.chain != self.best_chain_:
            warn(
                f"chain {self.best_chain_} is published now, and topics had been named in chain {before.chain}. "
                "The names are dropped, since topics of two chains have nothing in common.",
                TopicNamesWarning,
            )
            return
        self._topic_names = before.topics

    def _read_names(self, path: Path, saved: SavedNames | None) -> None:
        """Names of a saved model, checked."""
        self._topic_names = None
        if saved is None:
            return
        if saved.chain != self.best_chain_ or len(saved.topics) != self._n_named():
            raise StorageError(
                f"{path} is damaged: it names {counted(len(saved.topics), 'topics')} of chain {saved.chain}, and the "
                f"model has {self._n_named()} of chain {self.best_chain_}. Restore it from a copy."
            )
        try:
            same = _by_number(saved.topics, len(saved.topics), saved.topics) == saved.topics
            _check_distinct(saved.topics)
        except InputError as error:
            raise StorageError(f"{path} is damaged: {error} Restore it from a copy.") from error
        if not same:
            raise StorageError(f"{path} is damaged: it has names that nobody can have given. Restore it from a copy.")
        self._topic_names = saved.topics


# -- what a name may be ----------------------------------------------------------------------------------------------


def _by_number(names: Any, n_topics: int, before: Names, known: Names = ()) -> Names:
    """A name, or None, for each topic."""
    if names is None:
        return (None,) * n_topics
    if isinstance(names, Mapping):
        found = list(before)
        for topic, name in names.items():
            found[_number(topic, n_topics, known)] = _name(topic, name)
        return tuple(found)
    if isinstance(names, bytes | Set) or not isinstance(names, Iterable):
        raise InputError(f"names is {shown(names)}; {_FORMS}.")
    listed = list(names)
    if len(listed) != n_topics:
        raise InputError(
            f"there are {counted(len(listed), 'names')} for {counted(n_topics, 'topics')}; give one for each, or a "
            "dict with the names of some."
        )
    return tuple(_name(k, name) for k, name in enumerate(listed))


def _number(topic: Any, n_topics: int, known: Names) -> int:
    text = isinstance(topic, str) and topic.isdecimal() and topic.isascii()  # as in JSON, whose keys are strings
    if not text and isinstance(topic, str) and topic in known:
        return known.index(topic)
    number = int(topic) if text else topic
    right = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not right or not 0 <= number < n_topics:
        raise InputError(f"names has topic {shown(topic)}; topics are numbered 0 to {n_topics - 1}.")
    return int(number)


def _name(topic: Any, name: Any) -> str | None:
    """A name on one line, without characters that control terminals; None if nothing is left."""
    if name is None:
        return None
    if not isinstance(name, str):
        raise InputError(f"the name of topic {topic} is {shown(name)}; it must be a string, or None.")
    if not is_encodable(name):
        raise InputError(f"the name of topic {topic} is {shown(name)}, {NOT_ENCODABLE}")
    text = "".join(c for c in " ".join(name.split()) if unicodedata.category(c) != "Cc")
    if len(text) > _LONGEST:
        raise InputError(f"the name of topic {topic} has {len(text):,} characters; {_LONGEST} are the most.")
    return text.strip() or None


def _check_distinct(names: Sequence[str | None]) -> None:
    first: dict[str, int] = {}
    for k, name in enumerate(names):
        if name is not None and first.setdefault(name, k) != k:
            raise InputError(f"topics {first[name]} and {k} would both be named {shown(name)}; give each its own name.")


def _read_file(path: Path, fingerprint: str, any_model: bool) -> Any:
    """The names in a JSON file: what the explorer exported, or a list or an object as it is."""
    try:
        found = json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}; {_FORMS}.") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error}); {_FORMS}.") from None
    if not isinstance(found, dict) or "topicloom" not in found:
        return found
    version = found.get("version")
    if found["topicloom"] != _FILE or isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise InputError(f"{path} is a file of topicloom, but none of topic names; export them from the explorer.")
    if version > 1:
        raise InputError(f"{path} has version {version} of topic names; this topicloom reads version 1. Upgrade it.")
    if found.get("fingerprint") != fingerprint and not any_model:
        raise InputError(
            f"{path} has names for the topics of another model (fingerprint {shown(found.get('fingerprint'))}; this "
            f"one has {fingerprint!r}), whose numbers mean other topics. If you know that they are the same, give "
            "any_model=True."
        )
    names = found.get("names", {})
    if not isinstance(names, dict):
        raise InputError(f"{path}: names is {shown(names)}, expected an object of names by topic number.")
    return names
