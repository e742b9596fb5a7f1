"""Groups of options that several commands share: how to read texts, how to sample."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import BadParameter, Option

from topicloom.errors import InputError


def _number(given: Any) -> Any:
    """A whole number, or "auto"."""
    try:
        return given if given == "auto" else int(given)
    except ValueError as error:
        raise BadParameter(f"{given!r} is neither a whole number nor auto.") from error


Shards = Annotated[
    Any,
    Option(
        "--shards", parser=_number, metavar="N|auto",
        help="Parts of a sweep that threads share; every number is exact. auto goes by the tokens.",
    ),
]  # fmt: skip
Sweeps = Annotated[
    Any,
    Option(
        "--sweeps", "-n", parser=_number, metavar="N|auto",
        help="Sweeps over the corpus, or auto: until the chains agree, at most 10,000. auto needs several --chains.",
    ),
]  # fmt: skip


@dataclass(frozen=True)
class Cutting:
    """Texts and tables"""

    stop_words: Annotated[
        str | None,
        Option(
            help="Words to leave out: one or more languages (english,de), or a file of words.",
            metavar="LANGUAGE[,…]|FILE",
        ),
    ] = None
    strip: Annotated[
        str | None, Option(help="Remove markup, web addresses or both from the texts first.", metavar="html,urls")
    ] = None
    normalizer: Annotated[
        str | None,
        Option(help="Count stems instead of words, for example snowball:german.", metavar="snowball:LANGUAGE"),
    ] = None
    phrases: Annotated[
        str | None,
        Option(help="Join words that often follow each other. Pairs are scored this way.", metavar="npmi|gensim"),
    ] = None
    phrase_min_count: Annotated[int | None, Option(help="Least number of occurrences of a phrase (default: 5).")] = None
    phrase_threshold: Annotated[
        float | None, Option(help="Score above which a pair becomes a phrase (default: 0.5 for npmi, 10 for gensim).")
    ] = None
    phrase_passes: Annotated[
        int | None, Option(help="Passes over the texts (default: 1). Two passes join up to four words.")
    ] = None
    ngrams: Annotated[
        str | None,
        Option(help="Count runs of words: 2 for pairs, 1,2 for single words and pairs.", metavar="N|LOW,HIGH"),
    ] = None
    min_df: Annotated[
        str | None,
        Option(help="Leave out words in fewer documents than this number (5) or share (0.01).", metavar="N|SHARE"),
    ] = None
    max_df: Annotated[
        str | None, Option(help="Leave out words in more documents than this number or share (0.5).", metavar="N|SHARE")
    ] = None
    max_words: Annotated[int | None, Option(help="Keep only this many of the most frequent words.")] = None
    min_cells: Annotated[
        str | None,
        Option(help="Leave out features in fewer cells than this number (10) or share (0.01).", metavar="N|SHARE"),
    ] = None
    max_cells: Annotated[
        str | None, Option(help="Leave out features in more cells than this number or share.", metavar="N|SHARE")
    ] = None
    token_pattern: Annotated[str | None, Option(help="Regular expression that matches a word.", metavar="REGEX")] = None
    keep_case: Annotated[bool, Option("--keep-case", help="Do not turn words into lower case.")] = False
    keep_texts: Annotated[
        bool | None,
        Option(
            "--keep-texts/--no-texts",
            help="Keep the texts with the model, to show them later (default: up to 50 million characters).",
            show_default=False,
        ),
    ] = None
    label_column: Annotated[str | None, Option(help="Column that holds labels.")] = None
    group_column: Annotated[str | None, Option(help="Column that holds groups.")] = None
    response_column: Annotated[str | None, Option(help="Column that holds numbers to predict.")] = None
    time_column: Annotated[str | None, Option(help="Column that holds times.")] = None

    def told(self) -> dict[str, Any]:
        """Options as they were given, for the command that makes a model again."""
        return {name: value for name, value in vars(self).items() if value not in (None, False) or name == "keep_texts"}

    def options(self) -> dict[str, Any]:
        return {
            "stop_words": _stop_words(self.stop_words),
            "strip": None if self.strip is None else [name.strip() for name in self.strip.split(",")],
            "normalizer": self.normalizer,
            "phrases": self._phrases(),
            "ngrams": None if self.ngrams is None else _ngrams(self.ngrams),
            "min_df": _count_or_share("--min-df", self.min_df),
            "max_df": _count_or_share("--max-df", self.max_df),
            "min_cells": _count_or_share("--min-cells", self.min_cells),
            "max_cells": _count_or_share("--max-cells", self.max_cells),
            "max_words": self.max_words,
            "token_pattern": self.token_pattern,
            "lowercase": False if self.keep_case else None,
            "keep_texts": self.keep_texts,
            "label_column": self.label_column,
            "group_column": self.group_column,
            "response_column": self.response_column,
            "time_column": self.time_column,
        }

    def _phrases(self) -> dict[str, Any] | None:
        given = {"min_count": self.phrase_min_count, "threshold": self.phrase_threshold, "passes": self.phrase_passes}
        found = {name: value for name, value in given.items() if value is not None}
        if self.phrases is None:
            if found:
                raise InputError(f"--phrase-{next(iter(found)).replace('_', '-')} needs --phrases npmi or gensim.")
            return None
        return {"score": self.phrases, **found}


@dataclass(frozen=True)
class Sampling:
    """Model"""

    topics: Annotated[int, Option("--topics", "-k", help="Number of topics.")] = 10
    sweeps: Sweeps = 500
    alpha: Annotated[
        str | None,
        Option(
            help="Dirichlet prior of documents: a number, or one per topic (default: learned from 1/topics on).",
            metavar="A[,A…]",
        ),
    ] = None
    beta: Annotated[
        float | None, Option(help="Dirichlet prior of words (default: learned from 1/topics on).", metavar="B")
    ] = None
    learn: Annotated[
        bool | None,
        Option(
            "--learn/--fixed",
            help="Learn both priors, or none (default: those that are not given).",
            show_default=False,
        ),
    ] = None
    estimator: Annotated[str, Option(help="How topics are computed from the samples: cgs_p (dense) or standard.")] = (
        "cgs_p"
    )
    sampler: Annotated[str, Option(help="Sampler; auto picks one by the data.")] = "auto"
    shards: Shards = "auto"
    mh_steps: Annotated[int, Option(help="Proposals per token, for the samplers mh and warp.")] = 2
    method: Annotated[str, Option(help="gibbs, or a variational method: cvb0, cvb, cvb_exact, vb, scvb0, svb.")] = (
        "gibbs"
    )
    tol: Annotated[float, Option(help="Variational methods: share of tokens that may still move at convergence.")] = (
        1e-3
    )
    batch_size: Annotated[int, Option(help="Documents per minibatch, for scvb0 and svb.")] = 128
    chains: Annotated[int, Option(help="Independent chains. The likeliest becomes the model; all are kept.")] = 1
    paths: Annotated[int, Option(help="Paths per chain, which share their topics.")] = 1
    seed: Annotated[int, Option(help="Seed of the random numbers; the same seed gives the same model.")] = 0
    burn_in: Annotated[
        int | None, Option(help="Average over samples from this sweep on (default: use the last sweep alone).")
    ] = None
    thin: Annotated[int, Option(help="Sweeps between the samples that are averaged.")] = 10
    keep_draws: Annotated[
        str | None,
        Option(help="Keep draws of theta, phi or both at the averaged sweeps. Needs --burn-in.", metavar="theta,phi"),
    ] = None
    seed_words: Annotated[
        Path | None,
        Option(
            help='JSON file with words for topics: {"0": ["goal", "match"]}, or a list of lists.', metavar="FILE.json"
        ),
    ] = None
    seed_weight: Annotated[float, Option(help="Prior weight of a seed word, as a share of its count.")] = 0.5
    checkpoint_every: Annotated[int, Option(help="Sweeps between checkpoints.")] = 50

    def model(self, **common: Any) -> Any:
        """The model that these options ask for."""
        from topicloom.models import LDA, VariationalLDA

        shared = {
            "n_components": self.topics,
            "max_iter": self.sweeps,
            "doc_topic_prior": None if self.alpha is None else _numbers("--alpha", self.alpha),
            "topic_word_prior": self.beta,
            "learn_priors": self.learn,
            "n_chains": self.chains,
            "random_state": self.seed,
            "seed_words": None if self.seed_words is None else _seed_words(self.seed_words),
            "seed_weight": self.seed_weight,
            "checkpoint_every": self.checkpoint_every,
            **common,
        }
        if self.method == "gibbs":
            return LDA(
                **shared, estimator=self.estimator,  # type: ignore[arg-type]  # checked there
                sampler=self.sampler, sampler_options={"n_mh": self.mh_steps}, n_paths=self.paths,
                burn_in=self.burn_in, thin=self.thin,
                keep_draws=None if self.keep_draws is None else _names_of_draws(self.keep_draws),
                n_shards=self.shards,
            )  # fmt: skip
        self._refuse_sampling()
        if self.shards != "auto":
            shared["n_shards"] = self.shards
        return VariationalLDA(**shared, method=self.method, tol=self.tol, batch_size=self.batch_size)  # type: ignore[arg-type]  # checked there

    def _refuse_sampling(self) -> None:
        """Options that only sampling has, given for a method that draws nothing."""
        for name in ("estimator", "sampler", "mh_steps", "paths", "burn_in", "thin", "keep_draws"):
            if getattr(self, name) != type(self).__dataclass_fields__[name].default:
                option = f"--{name.replace('_', '-')}"
                raise InputError(f"{option} is for sampling, and --method {self.method} draws nothing; leave it out.")


def _names_of_draws(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not set(names) <= {"theta", "phi"}:
        raise InputError(f"--keep-draws {text}: expected theta, phi, or theta,phi.")
    return list(dict.fromkeys(names))


def _count_or_share(name: str, text: str | None) -> int | float | None:
    if text is None:
        return None
    try:
        return int(text) if text.strip().lstrip("+-").isdigit() else float(text)
    except ValueError:
        raise InputError(
            f"{name} {text}: expected a number of documents, such as 5, or a share, such as 0.01."
        ) from None


def _numbers(name: str, text: str) -> float | list[float]:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{name} {text}: expected a number, or one per topic with commas between them.") from None
    return values[0] if len(values) == 1 else values


def _stop_words(given: str | None) -> str | set[str] | None:
    from topicloom.corpus._stop_words import is_language

    if given is None or all(is_language(name.strip()) for name in given.split(",")):
        return given
    if not Path(given).exists():
        raise InputError(
            f"--stop-words {given} cannot be read: there is no such file, and no list of this name. Give a file with "
            "the words to leave out, or languages by their English names or codes: german, de, or english,german."
        )
    from topicloom.corpus._lines import text_lines

    return {word for line in text_lines(Path(given)) for word in line.split()}


def _ngrams(text: str) -> tuple[int, int]:
    try:
        numbers = [int(part) for part in text.split(",")]
        low, high = numbers * 2 if len(numbers) == 1 else numbers
    except ValueError:
        raise InputError(f"--ngrams {text}: expected a number of words, such as 2, or a range, such as 1,2.") from None
    return low, high


def _seed_words(path: Path) -> dict[int, list[str]] | list[list[str]]:
    from topicloom.corpus._lines import text_lines

    expected = 'expected {"topic number": ["word", …]} or [["word", …], …]'
    try:
        found = json.loads("".join(text_lines(path)))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {error.lineno}: this is not JSON ({error.msg}); {expected}.") from None
    if isinstance(found, list):
        return found
    if not isinstance(found, dict) or not all(key.isdecimal() for key in found):
        raise InputError(f"{path}: {expected}.")
    return {int(topic): words for topic, words in found.items()}
