"""Draws that are kept along a chain: θ and φ at each kept sweep, or functions of them.

A draw is made of the counts of one sample, which are there for the averages anyway. Draws belong to the chain: a
checkpoint has them, so that a resumed run has the same ones.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from topicloom._types import AnyArray, FloatArray
from topicloom.corpus._checks import shown
from topicloom.corpus._limits import available_memory
from topicloom.corpus.corpus import Corpus
from topicloom.engine.checks import ROUNDING
from topicloom.engine.estimates import Counts, phi, theta
from topicloom.engine.multipath import join_documents
from topicloom.engine.prior import Prior
from topicloom.errors import InputError, StorageError, counted
from topicloom.files.checks import Contents, Expected

KeepDraws = str | Sequence[str] | Mapping[str, Callable[..., Any] | str | None]
"""A parameter's name, several, or functions by name; None is a function that a file could not hold."""

Shapes = Mapping[str, tuple[int, ...]]
_PREFIX = "draws_"  # of arrays in a checkpoint
_LONGEST = 100  # characters of a name
_MOST_AXES = 8  # of what a function gives


class Kinds(NamedTuple):
    """What a model's draws are made of."""

    parameters: tuple[str, ...]  # in the order in which a function is given them
    context: tuple[str, ...] = ()  # what a function may ask for, too, by the name of a keyword

    @property
    def given(self) -> tuple[str, ...]:
        """What a function gets without asking."""
        return tuple(name for name in self.parameters if name not in self.context)


TOPICS = Kinds(("theta", "phi"), ("alpha", "vocabulary"))


class Drawn(NamedTuple):
    """One draw: each of the model's parameters, and the context."""

    parameters: Mapping[str, FloatArray]
    context: Mapping[str, Any]


def draw_topics(corpus: Corpus, counts: Counts, prior: Prior, n_paths: int) -> Drawn:
    """θ [D, K] and φ [K, V] of one sample; of several paths θ is that of their mean counts."""
    assert counts.doc is not None
    assert counts.word is not None
    joined = join_documents(counts.doc, n_paths, "mean")
    one = prior._replace(alpha_row=prior.alpha_row[: len(joined)])
    found = {"theta": theta(joined, counts.n_samples, corpus, one), "phi": phi(counts.word, counts.n_samples, prior).T}
    return Drawn(found, topic_context(corpus, one))


def topic_context(corpus: Corpus, prior: Prior) -> dict[str, Any]:
    """α [K] of a document of which no collection is known, and the words."""
    rows = prior.alpha[prior.alpha_row] if len(prior.alpha) > 1 else prior.alpha
    return {"alpha": rows.mean(axis=0), "vocabulary": corpus.vocabulary}


def topic_shapes(corpus: Corpus, prior: Prior, n_paths: int) -> Shapes:
    """Shapes of θ and φ."""
    return {"theta": (corpus.n_docs // n_paths, prior.n_topics), "phi": (prior.n_topics, corpus.n_words)}


# -- what is to be kept ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DrawPlan:
    """What is kept of a draw, by name: a parameter, a function, or None for a function that is not known."""

    wanted: Mapping[str, Callable[..., Any] | str | None]
    kinds: Kinds
    burn_in: int
    thin: int
    max_iter: int

    @property
    def total(self) -> int:
        """Draws of a chain that comes to its end."""
        return self.by(self.max_iter)

    def by(self, sweep: int) -> int:
        """Draws of a chain that is at a sweep."""
        return max((sweep - self.burn_in) // self.thin + 1, 0)

    def parameter_bytes(self, shapes: Shapes) -> int:
        """Bytes of all parameters that one chain keeps; what functions will give is not known before."""
        return 4 * self.total * sum(math.prod(shapes[name]) for name in self.wanted if name in shapes)


def read_plan(model: Any, kinds: Kinds, max_iter: int) -> DrawPlan | None:
    """What a model's ``keep_draws`` asks for, of a chain with so many sweeps, or more where it stops by itself."""
    wanted = _wanted(getattr(model, "keep_draws", None), kinds)
    if not wanted:
        return None
    if model.burn_in is None:
        raise InputError(
            "keep_draws keeps a draw at sweeps burn_in, burn_in + thin, …, but none is given; give a burn_in after "
            f"which the chains have settled, for instance {max(max_iter // 2, 1)}."
        )
    return DrawPlan(wanted, kinds, model.burn_in, model.thin, max_iter)


def _wanted(given: Any, kinds: Kinds) -> Mapping[str, Any]:
    expected = f"give {', '.join(map(repr, kinds.parameters))}, a list of them, or a dict of functions by name"
    if given is None:
        return {}
    names = [given] if isinstance(given, str) else given
    if isinstance(names, Mapping):
        for name, function in names.items():
            _check_function(name, function, kinds)
        return names
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InputError(f"keep_draws={shown(given)} cannot be used; {expected}.")
    for name in names:
        if name not in kinds.parameters or names.count(name) > 1:
            what = "is there twice" if name in kinds.parameters else "is not known"
            raise InputError(f"keep_draws has {name!r}, which {what}; {expected}.")
    return {name: name for name in names}


def _check_function(name: Any, function: Any, kinds: Kinds) -> None:
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST:
        raise InputError(f"keep_draws has the name {shown(name)}; expected a text of 1 to {_LONGEST} characters.")
    where = f"keep_draws[{name!r}]"
    if name in kinds.parameters:
        if function != name:
            raise InputError(
                f"{where} is the model's own {name}; write {name!r} for it, or name your function otherwise."
            )
    elif function is not None and not callable(function):
        raise InputError(f"{where}={shown(function)} must be a function of {', '.join(kinds.given)}.")
    elif function is not None:
        _keywords(where, function, kinds)


def _keywords(where: str, function: Callable[..., Any], kinds: Kinds) -> tuple[str, ...]:
    """What of the context a function asks for."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some that are written in C have none
        return ()
    own = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    unknown = [p.name for p in own if p.default is p.empty and p.name not in kinds.context]
    if unknown:
        known = f"; it can have {', '.join(kinds.context)}" if kinds.context else ""
        raise InputError(f"{where} asks for the keyword {unknown[0]!r}, which a draw does not have{known}.")
    return tuple(p.name for p in own if p.name in kinds.context)


def check_known(plan: DrawPlan | None, path: Any = None) -> None:
    """Refuse to begin without a function; ``path`` is that of a run, whose files cannot hold functions."""
    missing = [name for name, function in ({} if plan is None else plan.wanted).items() if function is None]
    if not missing:
        return
    if path is None:
        raise InputError(f"keep_draws[{missing[0]!r}]=None must be a function; give the one that it stands for.")
    given = ", ".join(f"{name!r}: …" for name in missing)
    raise InputError(
        f"the run in {path} keeps draws of functions, which its files cannot hold; give the same ones again: "
        f"topicloom.resume({str(path)!r}, keep_draws={{{given}}})."
    )


def completed(saved: Any, given: Any) -> Any:
    """A run's ``keep_draws`` with its functions, as they are given again."""
    if not isinstance(given, str | Sequence | Mapping):
        raise InputError(f"keep_draws={shown(given)} cannot be used; give a dict with the run's functions by name.")
    names = {given: given} if isinstance(given, str) else given
    names = names if isinstance(names, Mapping) else dict(zip(names, names, strict=True))
    before = saved if isinstance(saved, Mapping) else dict.fromkeys([saved] if isinstance(saved, str) else saved or ())
    others = [name for name in names if name not in before]
    if others:
        kept = f"it keeps {', '.join(map(repr, before))}" if before else "it keeps none"
        raise InputError(
            f"keep_draws has {others[0]!r}, but which draws a run keeps is fixed when it begins: {kept}. Give its own "
            "functions, or fit a new model."
        )
    return {name: names.get(name, own) for name, own in saved.items()} if isinstance(saved, Mapping) else saved


# -- memory ------------------------------------------------------------------------------------------------------------


def memory_note(plan: DrawPlan, shapes: Shapes, n_chains: int) -> str:
    """What draws will take, in words; raises if it is more than there is."""
    names = [name for name in plan.wanted if name in shapes]
    needed = plan.parameter_bytes(shapes) * n_chains
    when = f"{counted(plan.total, 'sweeps')} of {counted(n_chains, 'chains')}"
    what = f"draws of {' and '.join(names) or 'functions'} at {when}"
    _require(needed, what)
    return f"memory: {what} take {_text(needed)}" + (
        ", and functions' results come on top." if _functions(plan) else "."
    )


def _functions(plan: DrawPlan) -> bool:
    return any(name not in plan.kinds.parameters for name in plan.wanted)


def _require(needed: int, what: str) -> None:
    if needed > (left := available_memory()):
        raise InputError(
            f"{what} need {_text(needed)}, and {_text(left)} are free. Keep fewer of them (a larger thin or burn_in), "
            "or functions that give less than θ and φ."
        )


def _text(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(size / 1e6, 0.1):.1f} MB"


# -- along a chain -----------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Draws:
    """The draws of a chain: the first ``n`` entries of arrays that have room for all."""

    n: int = 0
    room: dict[str, AnyArray] = field(default_factory=dict)

    @property
    def arrays(self) -> dict[str, AnyArray]:
        """Draws [n, …] by name."""
        return {name: array[: self.n] for name, array in self.room.items()}

    def add(self, plan: DrawPlan, drawn: Drawn, sweep: int) -> None:
        """Keep one more draw. If a function fails, the draws are as before."""
        values = {name: self._value(plan, name, drawn, sweep) for name in plan.wanted}
        for name, value in values.items():
            array = self.room.get(name)
            if array is None or len(array) == self.n:
                self.room[name] = array = self._more_room(plan, name, value)
            array[self.n] = value
        self.n += 1

    def _value(self, plan: DrawPlan, name: str, drawn: Drawn, sweep: int) -> AnyArray:
        function = plan.wanted[name]
        if not callable(function):
            return drawn.parameters[name].astype(np.float32)
        where = f"keep_draws[{name!r}]"
        given = [drawn.parameters[parameter] for parameter in plan.kinds.given]
        for array in given:
            array.flags.writeable = False  # the next function is given the same
        more = {key: drawn.context[key] for key in _keywords(where, function, plan.kinds)}
        value = _as_numbers(where, function(*given, **more), sweep)
        before = self.room.get(name)
        if before is not None and before.shape[1:] != value.shape:
            raise InputError(
                f"{where} gave an array of shape {value.shape} at sweep {sweep}, and of shape {before.shape[1:]} "
                "before; each draw must have the same shape."
            )
        return value

    def _more_room(self, plan: DrawPlan, name: str, value: AnyArray) -> AnyArray:
        size = max(plan.total, 2 * self.n, 1)  # more than planned where a chain stops by itself
        _require(size * value.nbytes, f"{size:,} draws of {name}")
        array = np.empty((size, *value.shape), value.dtype)
        if self.n:
            array[: self.n] = self.room[name]
        return array


def _as_numbers(where: str, value: Any, sweep: int) -> FloatArray:
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        array = np.asarray(None)
    if array.dtype.kind not in "biuf" or array.size == 0 or array.ndim > _MOST_AXES:
        raise InputError(f"{where} gave {shown(value)} at sweep {sweep}; expected a number, or an array of numbers.")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise InputError(
            f"{where} gave a value at sweep {sweep} that is NaN or infinite; only finite ones can be kept."
        )
    return array


def together(chains: Sequence[Any]) -> dict[str, AnyArray]:
    """Draws [chains, draws, …] by name: as many as every chain has."""
    found = [chain.draws for chain in chains]
    if any(draws is None for draws in found):
        return {}
    n = min(draws.n for draws in found)
    return {name: np.stack([draws.room[name][:n] for draws in found]) for name in found[0].room}


# -- files -------------------------------------------------------------------------------------------------------------


def to_arrays(draws: Draws | None) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Arrays and info of a chain's file."""
    if draws is None:
        return {}, {}
    arrays = draws.arrays
    shapes = {name: list(array.shape[1:]) for name, array in arrays.items()}
    return {_PREFIX + name: array for name, array in arrays.items()}, {"draws": shapes}


def check_arrays(file: Contents, plan: DrawPlan | None) -> None:
    """Refuse a chain's file unless it has one draw of each kind for each sample that was kept."""
    if plan is None:
        return
    n_kept, sweep = file.whole("kept"), file.whole("sweep")
    if n_kept != plan.by(sweep):
        file.fail(f"it has {n_kept} draws at sweep {sweep}, expected {plan.by(sweep)}")
    if n_kept == 0:
        return
    shapes = file.info.get("draws")
    right = isinstance(shapes, dict) and shapes.keys() == plan.wanted.keys() and all(map(_is_shape, shapes.values()))
    if not isinstance(shapes, dict) or not right:
        file.fail("its info does not have the shapes of the draws that the model keeps")
    for name, shape in shapes.items():
        one = name in plan.kinds.parameters
        wanted = Expected("f4", (n_kept, *shape), 0.0, 1 + ROUNDING) if one else Expected("f8", (n_kept, *shape))
        file.expect({name: wanted}, _PREFIX)
        if one:
            file.sums_to(_PREFIX + name, file.arrays[_PREFIX + name].sum(axis=-1, dtype=np.float64), 1.0, ROUNDING)


def _is_shape(shape: Any) -> bool:
    sizes = isinstance(shape, list) and len(shape) <= _MOST_AXES
    return sizes and all(isinstance(size, int) and not isinstance(size, bool) and size > 0 for size in shape)


def from_arrays(file: Contents, plan: DrawPlan | None, shapes: Shapes) -> Draws | None:
    """Draws of a file that was checked; ``shapes`` are those that the model's parameters must have."""
    if plan is None or file.info["kept"] == 0:
        return None
    found = {name: file.arrays[_PREFIX + name] for name in plan.wanted}
    for name, array in found.items():
        if name in plan.kinds.parameters and array.shape[1:] != shapes[name]:
            file.fail(f"the array {_PREFIX + name!r} has draws of shape {array.shape[1:]}, expected {shapes[name]}")
    return Draws(file.info["kept"], found)


def check_same_shapes(path: Any, chains: Sequence[Any]) -> None:
    """Refuse chains whose functions gave other shapes than those of other chains."""
    shapes = [{n: a.shape[1:] for n, a in chain.draws.room.items()} for chain in chains if chain.draws is not None]
    if any(shape != shapes[0] for shape in shapes):
        raise StorageError(f"{path}: its chains have draws of different shapes. Restore them from a copy.")
