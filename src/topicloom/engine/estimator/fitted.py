"""What every model is: a problem that is stated, chains that are run, what they say, and a directory for all of it.

``fit``, ``resume``, ``save`` and ``load`` are written here once. A model says how its problem is stated, from the
arguments of ``fit`` or from the files of a run, and what it publishes of the chains.
"""

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.corpus.corpus import Corpus
from topicloom.corpus.stored import corpus_part
from topicloom.engine import checkpoint, draws, places, stopping
from topicloom.engine.estimator import html, inputs, parameters, published, stored_checks
from topicloom.engine.estimator.above import Explored
from topicloom.engine.estimator.judged import JudgedChains
from topicloom.engine.estimator.learned import LearnedState
from topicloom.engine.estimator.names import NamedTopics, SavedNames
from topicloom.engine.progress import announce, progress
from topicloom.engine.run import Callback, Chain, Plan, run_chains, start_chain
from topicloom.engine.sampler import Sampler
from topicloom.engine.shards import shards_for
from topicloom.engine.threads import joblib_workers, run_parallel, threads_for
from topicloom.errors import StorageError
from topicloom.files.directories import Part, Stored, finish_run, restart_run, save_model
from topicloom.files.manifests import CORPUS, MANIFEST, MODEL, chain_role


class Problem(NamedTuple):
    """A fit, stated: all that the chains need, and what is published with them."""

    corpus: Corpus  # as it was given, and as it is saved
    sampled: Corpus  # as the sampler sees it
    sampler: Sampler
    prior: Callable[[], Any]  # made when chains start
    plan: Plan
    n_chains: int
    sizes: Mapping[str, int] = {}  # of arrays in a checkpoint, as far as the model knows them
    threads_by_chain: bool = True  # whether threads go to whole chains
    data: Any = None  # what a model was given beside the corpus: labels, targets, an alphabet
    beside: Mapping[str, Part] = {}  # the same, as files
    note: Callable[[], str] | None = None  # what the run will need; raises if that is more than there is


def _in_shards(problem: Problem) -> Plan:
    """The plan, with as many shards as the corpus asks for, if the model leaves that open."""
    plan = problem.plan
    return replace(plan, schedule=plan.schedule._replace(
        n_shards=shards_for(plan.schedule.n_shards, problem.sampled.n_tokens)
    ))  # fmt: skip


class FittedModel(LearnedState, Explored, html.ShownInNotebooks, NamedTopics, JudgedChains, BaseEstimator):  # type: ignore[misc]
    """A model that is fitted by chains. Subclasses bring parameters, and say how their problem is stated."""

    max_iter: stopping.MaxIter
    n_jobs: int | None
    checkpoint_dir: Any
    random_state: Any
    verbose: int

    _CHECKS: ClassVar[Mapping[str, parameters.Check]] = {}  # of parameters, beside those that all models share
    _OPTIONS: ClassVar[Mapping[str, parameters.Options]] = {}  # keys and defaults of parameters that are dicts
    _GONE: ClassVar[Mapping[str, str]] = {}  # parameters of earlier versions, and what to do instead
    _DRAWS: ClassVar[draws.Kinds] = draws.TOPICS  # what ``keep_draws`` may name, of models that have it

    _PUBLISHES: ClassVar[tuple[str, ...]] = ("best", "medoid")  # how the published chain may be chosen

    fit_seconds_: float
    interrupted_: bool
    log_joint_: FloatArray
    n_iter_: int
    _matches: Int64Array | None = None  # [chains, K] topics that are merged into each topic; −1 where a chain has none

    def __new__(cls, *args: Any, **params: Any) -> Self:
        parameters.refuse_unknown_names(cls, params)
        return object.__new__(cls)

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, as of every estimator of scikit-learn.

        Parameters
        ----------
        **params
            Parameters of the constructor.

        Returns
        -------
        self

        Examples
        --------
        >>> from topicloom import LDA
        >>> LDA(10).set_params(n_components=20)
        LDA(n_components=20)
        """
        parameters.refuse_old_names(type(self), params)
        super().set_params(**params)
        return self

    # -- what a model says ---------------------------------------------------------------------------------------

    def _plan(self, seed: int) -> Plan:
        """Check every parameter; what is left to check depends on the data."""
        raise NotImplementedError

    def _stored_problem(self, stored: Stored, seed: int) -> Problem:
        """The problem as the files of a run or of a saved model have it."""
        raise NotImplementedError

    def _publish(self, problem: Problem, chains: list[Chain]) -> None:
        """Set the attributes of a fitted model, beside those that all have."""
        raise NotImplementedError

    def _chain_sampler(self) -> Sampler:
        """The sampler of a fitted model's chains."""
        raise NotImplementedError

    def _model_part(self) -> Part:
        """The finished estimates, as a file."""
        raise NotImplementedError

    def _set_model(self, stored: Stored, arrays: dict[str, AnyArray], info: Any) -> None:
        """The same, from a file that is checked first."""
        raise NotImplementedError

    def _beside_corpus(self) -> dict[str, Part]:
        """What a model was fitted to beside the corpus, as files."""
        return {}

    def _warn_unfinished(self, problem: Problem, best: Chain) -> None:
        """A warning where a run has ended without having converged."""

    def _report(self, problem: Problem, best: Chain) -> bool:
        """A warning where the estimates tell nothing; returns whether there was one."""
        return False

    def _sampling_plan(self, seed: int, **more: Any) -> Plan:
        """The plan of a model that draws and keeps samples; ``more`` is what it adds to its parameters."""
        names = ("burn_in", "thin", "estimator", "trace_every", "checkpoint_every")
        own = {name: getattr(self, name) for name in names}
        sweeps, rule = stopping.first_sweeps(self.max_iter), stopping.stopping_rule(self.max_iter)
        own |= {"max_iter": sweeps, "until": rule, "draws": draws.read_plan(self, self._DRAWS, sweeps)}
        return Plan(seed=seed, **{**own, **more})

    # -- fitting -------------------------------------------------------------------------------------------------

    def _start(self, problem: Problem) -> tuple[list[Chain], Stored | None]:
        """Chains before their first sweep, and the run that they will be saved in."""
        draws.check_known(problem.plan.draws)
        prior, run = problem.prior(), None
        note = _needs(problem, prior)
        if self.checkpoint_dir is not None:
            run = checkpoint.start_run(
                self.checkpoint_dir, problem.corpus, type(self).__name__, self._params_to_save(problem.data),
                problem.plan.seed, problem.beside,
            )  # fmt: skip
        if note and self.verbose > 0:
            announce(note)
        begin, numbers = partial(_start, problem, prior), range(problem.n_chains)
        return run_parallel(begin, numbers, self._jobs_of_chains(problem)), run

    def _fit(
        self, problem: Problem, callbacks: Sequence[Callback] = (),
        begun: tuple[list[Chain], Stored | None] | None = None, names: SavedNames | None = None,
    ) -> Self:  # fmt: skip
        """Run the problem's chains to their end, from their start or as far as they have ``begun``, and publish."""
        started = time.perf_counter()
        problem = problem._replace(plan=_in_shards(problem))
        with places.staying(self, problem) as stay:
            chains, run = self._start(stay.problem) if begun is None else begun
            stay.take(chains)
            sampler, plan = stay.problem.sampler, stay.problem.plan
            more: int | None = max(chain.sweep for chain in chains)
            with progress(self.verbose > 0, problem.corpus, chains, plan) as shown:
                while more is not None:
                    plan = plan if plan.until is None else replace(plan, max_iter=plan.until.next_look(more))
                    shown.extend(plan.max_iter)
                    interrupted = run_chains(
                        sampler,
                        problem.sampled,
                        chains,
                        plan,
                        n_jobs=self._jobs_of_chains(stay.problem),
                        callbacks=callbacks,
                        watch=shown.callbacks,
                        workers=joblib_workers(self.n_jobs) if stay.here else 0,
                        checkpoint=None if run is None else partial(checkpoint.save_chain, run, sampler),
                    )
                    more = None if interrupted else self._look_again(plan, chains)
            values = np.array([sampler.final_value(sampler, problem.sampled, chain, plan) for chain in chains])
            stay.bring_home(chains)
        problem = problem._replace(plan=plan)
        self._publish_all(problem, chains, values, interrupted, names)
        self.fit_seconds_ = time.perf_counter() - started
        if run is not None and not self.interrupted_:  # nor what follows from the chains
            finish_run(run, len(chains), self._model_part(), self._names_part())
        self._tell(problem, chains[self.best_chain_], interrupted)
        return self

    def _tell(self, problem: Problem, best: Chain, interrupted: bool) -> None:
        """Say how the fit went. Of a model that this one fits for itself, that model has told already."""
        if interrupted:
            inputs.warn_interrupted(self.n_iter_, problem.plan.max_iter)
        else:
            self._warn_unfinished(problem, best)
        self._report(problem, best)
        if self.verbose > 0 and problem.plan.until is None and (verdict := self.verdict_) is not None:
            announce(verdict)

    def _jobs_of_chains(self, problem: Problem) -> int:
        """Threads that have whole chains. Otherwise they share the sweeps of one chain after the other."""
        n_jobs = threads_for(self.n_jobs)
        by_chain = problem.plan.schedule.n_shards == 1 or problem.n_chains >= n_jobs
        return n_jobs if problem.threads_by_chain and by_chain else 1

    def _publish_all(
        self, problem: Problem, chains: list[Chain], values: FloatArray, interrupted: bool,
        names: SavedNames | None = None,
    ) -> None:  # fmt: skip
        """Set all attributes of a fitted model; if one cannot be, or is not finite, none is.

        ``names`` are those of its topics, if these topics have been published before.
        """
        with published.publishing(self):
            self._corpus, self._chains, self._stored = problem.corpus, chains, None
            self.log_joint_, self.seed_, self.interrupted_ = values, problem.plan.seed, interrupted
            self.best_chain_ = int(np.argmax(np.nan_to_num(values, nan=-np.inf)))
            self.n_iter_ = chains[self.best_chain_].sweep
            self._published_by, self._matches = "best", None
            self.traces_ = tuple(chain.trace for chain in chains)
            self._publish(problem, chains)
            self._keep_names(names)

    def _publishing(self, by: str, index: int, matches: Int64Array | None = None) -> Self:
        """A copy that publishes another chain or, with ``matches``, the topics of all chains merged."""
        chains, other = self.chains_, copy.copy(self)
        with published.publishing(other):
            other.best_chain_, other.n_iter_ = index, chains[index].sweep
            other._published_by, other._matches = by, matches
            other._publish(other._stored_problem(cast(Stored, self._stored), self.seed_), chains)
            other._keep_names(self._saved_names())
        return other

    @classmethod
    def _resume(cls, stored: Stored, changes: dict[str, Any]) -> Self:
        """Go on with a run, or with a finished model to more sweeps."""
        model = cls._from_params(stored)
        if "keep_draws" in changes:
            changes["keep_draws"] = draws.completed(getattr(model, "keep_draws", None), changes["keep_draws"])
        model.set_params(**changes, checkpoint_dir=stored.where)
        seed = stored.manifest["seed"]
        draws.check_known(model._plan(seed).draws, stored.folder)
        with stored_checks.parameters_of(stored):
            problem = model._stored_problem(stored, seed)
            prior = None if problem.plan.draws is None else problem.prior()
        _needs(problem, prior)
        with stored_checks.parameters_of(stored):
            chains = [
                model._load_chain(stored, index, problem)
                if stored.chain_path(index) is not None
                else _start(problem, problem.prior(), index)
                for index in range(problem.n_chains)
            ]
        draws.check_same_shapes(stored.folder, chains)
        done = max(chain.sweep for chain in chains)
        inputs.check_goes_on(stopping.most_sweeps(model.max_iter), done, stored.folder, stored.manifest)
        names = stored_checks.names_of(stored, problem.n_chains)
        run = restart_run(stored, cls.__name__, model._params_to_save(problem.data))
        return model._fit(problem, begun=(chains, run), names=names)

    def _load_chain(self, stored: Stored, index: int, problem: Problem) -> Chain:
        return checkpoint.load_chain(stored, index, problem.sampled, problem.sampler, problem.plan, **problem.sizes)

    # -- files ---------------------------------------------------------------------------------------------------

    def save(self, path: Any, *, corpus: bool = True) -> None:
        """Write the model to a directory, from which ``topicloom.load`` reads it.

        Parameters
        ----------
        path : str or path
            The directory, or its address for fsspec, as "s3://bucket/model". A model that is there is replaced when the
            new one is complete.
        corpus : bool, default=True
            Whether to save the training corpus and the chains. Without them the directory holds no training data, and
            the model can be used but not resumed.

        Raises
        ------
        InputError
            If the directory holds other files.
        StorageError
            If it cannot be written.

        Examples
        --------
        >>> import os, tempfile, topicloom
        >>> model = topicloom.LDA(2, max_iter=10, random_state=0).fit(["river boat", "money bank"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(os.path.join(folder, "model"))
        ...     again = topicloom.load(os.path.join(folder, "model"))
        >>> again.fingerprint_ == model.fingerprint_
        True
        """
        check_is_fitted(self, "seed_")
        kind, params = type(self).__name__, self._params_to_save(None)
        save_model(path, kind, params, self.seed_, self._parts(corpus), self._names_part())

    def _parts(self, corpus: bool) -> dict[str, Part]:
        """Files of a saved model."""
        parts: dict[str, Part] = {}
        if corpus:
            parts = {CORPUS: corpus_part(self.corpus_), **self._beside_corpus(), **self._chain_parts()}
        return {**parts, MODEL: self._model_part()}

    def _chain_parts(self) -> dict[str, Part]:
        sampler = self._chain_sampler()
        return {chain_role(chain.index): checkpoint.chain_part(sampler, chain) for chain in self.chains_}

    def _trace_arrays(self) -> dict[str, AnyArray]:
        """Traces of all chains, for the file of the finished estimates."""
        found: dict[str, AnyArray] = {}
        for index, trace in enumerate(self.traces_):
            found |= checkpoint.trace_arrays(trace, f"trace_{index}_")
        return found

    def _published_part(self) -> tuple[dict[str, AnyArray], dict[str, str]]:
        """How the published chain was chosen, for the file of the finished estimates; nothing if by its joint."""
        info = {} if self._published_by == "best" else {"published": self._published_by}
        return ({} if self._matches is None else {"matches": self._matches}), info

    def _params_to_save(self, data: Any) -> dict[str, Any]:
        """Parameters as JSON knows them; the seed is saved on its own."""
        params = {name: parameters.plain(value) for name, value in self.get_params(deep=False).items()}
        params["random_state"] = None
        if "predict_options" in self._OPTIONS:
            params["predict_options"] = parameters.saved_prediction(type(self), params["predict_options"])
        return params

    @classmethod
    def _renamed(cls, params: dict[str, Any]) -> dict[str, Any]:
        """Parameters that an earlier version may have saved, by their present names."""
        kind: Any = cls
        found = parameters.present_names(kind, params)
        if "n_shards" in parameters.parameters_of(kind):
            found.setdefault("n_shards", 1)  # of versions that had one alone
        if "predict_options" in cls._OPTIONS:
            found["predict_options"] = parameters.restored_prediction(cls, found.get("predict_options"))
        return found

    @classmethod
    def _params_from(cls, params: dict[str, Any]) -> dict[str, Any]:
        """The same, as they were given."""
        return params

    @classmethod
    def _from_params(cls, stored: Stored) -> Self:
        try:
            params = cls._renamed(dict(stored.manifest["params"]))
            model = cls(**cls._params_from({**params, "max_iter": stopping.from_saved(params.get("max_iter"))}))
        except (TypeError, ValueError) as error:
            raise StorageError(f"{stored.folder / MANIFEST}: {error}. Upgrade topicloom.") from error
        stored_checks.check_parameter_types(stored.folder / MANIFEST, params, cls)
        try:
            model._plan(stored.manifest["seed"])
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise StorageError(f"{stored.folder / MANIFEST} has wrong parameters: {error}") from error
        model.random_state = stored.manifest["seed"]
        return model

    @classmethod
    def _load(cls, stored: Stored) -> Self:
        if stored.running:
            folder = stored.folder
            raise StorageError(
                f"the run in {folder} has not finished; resume it with topicloom.resume({str(folder)!r})."
            )
        arrays, info = stored.read(MODEL)
        model = cls._from_params(stored)
        model._set_model(stored, arrays, info)
        model.log_joint_, model.seed_ = arrays["log_joint"], stored.manifest["seed"]
        for name in ("best_chain", "n_iter", "interrupted"):
            setattr(model, f"{name}_", info[name])
        model.traces_ = tuple(checkpoint.load_trace(arrays, f"trace_{index}_") for index in range(info["n_chains"]))
        model._published_by, model._matches = info.get("published", "best"), arrays.get("matches")
        model._stored, model._corpus, model._chains = stored, None, None
        model._read_names(stored.folder / MANIFEST, stored_checks.names_of(stored, len(model.traces_)))
        return model


def _start(problem: Problem, prior: Any, index: int) -> Chain:
    return start_chain(problem.sampler, problem.sampled, prior, problem.plan.seed, index)


def _needs(problem: Problem, prior: Any) -> str:
    """What a run will need, in words; raises if it is more than there is."""
    note, plan = "" if problem.note is None else problem.note(), problem.plan
    if plan.draws is None:
        return note
    shapes = problem.sampler.draw_shapes(problem.sampled, prior, plan.n_paths)
    of_draws = draws.memory_note(plan.draws, shapes, problem.n_chains)
    return note or of_draws
