"""Draws of a fitted model's parameters with their states aligned, intervals, and criteria to compare models by."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from topicloom._types import AnyArray, FloatArray, Int64Array
from topicloom.engine.estimator import inputs
from topicloom.engine.run import Chain
from topicloom.engine.sampler import Key, Schedule
from topicloom.errors import InputError
from topicloom.hmm import forward_backward, gibbs
from topicloom.hmm.decoding import SequenceModel
from topicloom.hmm.sampler import usual
from topicloom.hmm.state import Known, Observed, Parameters
from topicloom.numerics.jit import as_input
from topicloom.numerics.rng import Purpose, stream


class InferredParameters(SequenceModel):
    """The part of a model that says how well its parameters are known."""

    def draw_parameters(self, n_draws: int = 100, *, thin: int = 1) -> dict[str, FloatArray]:
        """Draws from the posterior of the parameters, states numbered as the model numbers them.

        Every chain goes on from where it stands, as ``topicloom.resume`` would, and after each ``thin`` sweeps all
        parameters are drawn given its path. The model stays as it is. In each draw states are numbered so that its path
        agrees with the published states at as many places as can be.

        Parameters
        ----------
        n_draws : int, default=100
            Draws of each chain.
        thin : int, default=1
            Sweeps from one draw to the next.

        Returns
        -------
        dict of str to ndarray of shape (n_chains, n_draws, ...)
            "initial", "transition", and the emission's parameters by their names: "emission", "rates", or "means" and
            "covars".

        Raises
        ------
        InputError
            If the model was not fitted by "gibbs", or with several paths, which have no draws from the posterior.

        Examples
        --------
        >>> from topicloom import HMM
        >>> model = HMM(2, max_iter=50, random_state=0).fit([["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5)
        >>> model.draw_parameters(20)["transition"].shape
        (1, 20, 2, 2)
        """
        check_is_fitted(self, "seed_")
        inputs.check_whole("n_draws", n_draws, 1)
        inputs.check_whole("thin", thin, 1)
        model: Any = self
        if model.method != "gibbs" or model.n_paths != 1:
            raise InputError(
                'draws from the posterior need method="gibbs" and n_paths=1; fit such a model, or start it from this '
                "one's parameters."
            )
        seen = model._training_data().seen
        published = np.concatenate([share.argmax(axis=1) for share in self._posteriors(seen)[1]])
        drawn = [_draws_of(model, chain, seen, published, n_draws, thin) for chain in model.chains_]
        return {name: np.stack([own[name] for own in drawn]) for name in drawn[0]}

    def intervals(
        self, level: float = 0.9, *, n_draws: int = 200, thin: int = 1
    ) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Posterior intervals of all parameters, from ``draw_parameters``.

        Parameters
        ----------
        level : float, default=0.9
            Probability of each interval. As much lies below it as above.
        n_draws : int, default=200
            Draws of each chain.
        thin : int, default=1
            Sweeps from one draw to the next.

        Returns
        -------
        dict of str to (ndarray, ndarray)
            Lower and upper ends, in the shapes of the parameters.

        Examples
        --------
        >>> from topicloom import HMM
        >>> model = HMM(2, max_iter=50, random_state=0).fit([["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5)
        >>> low, high = model.intervals(0.8, n_draws=50)["transition"]
        >>> bool((low < model.transition_).all() and (model.transition_ < high).all())
        True
        """
        inputs.check_number("level", level, 0.0, 1.0)
        tails = (1 - level) / 2
        found = {}
        for name, draws in self.draw_parameters(n_draws, thin=thin).items():
            flat = draws.reshape(-1, *draws.shape[2:])
            found[name] = (np.quantile(flat, tails, axis=0), np.quantile(flat, 1 - tails, axis=0))
        return found

    def waic(self, X: Any = None, lengths: Any = None, *, n_draws: int = 100, thin: int = 1) -> float:
        """The widely applicable information criterion, sequence by sequence; lower is better.

        −2 Σ (log of the mean of P(sequence | draw) − variance of its logarithm), over draws of the parameters. It needs
        several sequences: of a single long one its estimate of the fit to others means little. The score of sequences
        that were held out is the safer comparison.

        Parameters
        ----------
        X : list of sequences, one sequence or a Corpus, optional
            As in ``fit``. None takes the training sequences.
        lengths : list of int, optional
            Length of each sequence, if X is all of them end to end.
        n_draws : int, default=100
            Draws of each chain.
        thin : int, default=1
            Sweeps from one draw to the next.

        Returns
        -------
        float

        Examples
        --------
        >>> from topicloom import HMM
        >>> model = HMM(2, max_iter=50, random_state=0).fit([["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5)
        >>> model.waic() > -2 * model.score([["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5)
        True
        """
        drawn = self.draw_parameters(n_draws, thin=thin)
        model: Any = self
        seen = model._training_data().seen if X is None else self._see(X, lengths)[0]
        kind, logs = self._emission_kind(), []
        flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in drawn.items()}
        for i in range(len(flat["initial"])):
            own = kind.from_state({name: values[i] for name, values in flat.items() if name not in _MOVES})
            known = Known(np.vstack((flat["transition"][i], flat["initial"][i])), own)
            logs.append(self._likelihoods(known, seen))
        logs_by = np.array(logs)
        top = logs_by.max(axis=0)
        fit = top + np.log(np.mean(np.exp(logs_by - top), axis=0))
        return float(-2 * np.sum(fit - logs_by.var(axis=0)))

    def _likelihoods(self, known: Known, seen: Observed) -> FloatArray:
        table, top = self._emission_kind().table(known.own, seen)
        given = Parameters(as_input(known.moves), table)
        return forward_backward.log_likelihoods(seen, given, top)

    def aic(self, X: Any, lengths: Any = None) -> float:
        """Akaike's information criterion of sequences; lower is better.

        Parameters
        ----------
        X : list of sequences, one sequence or a Corpus
            As in ``fit``.
        lengths : list of int, optional
            Length of each sequence, if X is all of them end to end.

        Returns
        -------
        float
            −2 log P(w) + 2 · number of free parameters. Zeros of the priors and fixed parameters are not free.

        Examples
        --------
        >>> from topicloom import HMM
        >>> sequences = [["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5
        >>> one, two = (HMM(k, method="em", random_state=0).fit(sequences).aic(sequences) for k in (1, 2))
        >>> two < one
        True
        """
        return -2 * self.score(X, lengths) + 2 * self._n_free()

    def bic(self, X: Any, lengths: Any = None) -> float:
        """The Bayesian information criterion of sequences; lower is better.

        Parameters
        ----------
        X : list of sequences, one sequence or a Corpus
            As in ``fit``.
        lengths : list of int, optional
            Length of each sequence, if X is all of them end to end.

        Returns
        -------
        float
            −2 log P(w) + number of free parameters · log of the number of places that are not missing.

        Examples
        --------
        >>> from topicloom import HMM
        >>> sequences = [["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5
        >>> model = HMM(2, method="em", random_state=0).fit(sequences)
        >>> model.bic(sequences) > model.aic(sequences)
        True
        """
        seen = self._see(X, lengths)[0]
        if len(seen.values):
            n = int(np.sum(~np.isnan(seen.values[seen.rows]).all(axis=1)))
        else:
            n = int(np.sum(seen.rows < len(self.alphabet_)))
        return -2 * self.score(X, lengths) + self._n_free() * float(np.log(max(n, 1)))

    def _n_free(self) -> int:
        """Parameters that the fit could choose."""
        check_is_fitted(self, "seed_")
        model: Any = self
        fixed, k = set(model.fixed or ()), len(self.initial_)
        free = 0
        for name, prior, shape in (
            ("initial", model.initial_prior, (1, k)),
            ("transition", model.transition_prior, (k, k)),
        ):
            rows = np.broadcast_to(np.asarray(prior, float), shape) > 0
            free += 0 if name in fixed else int(rows.sum() - len(rows))
        if "emission" in fixed:
            return free
        if model.emission in ("categorical", "multinomial"):
            prior = 1.0 if model.emission_prior is None else model.emission_prior
            rows = np.broadcast_to(np.asarray(prior, float), self.emission_.shape) > 0
            return free + int(rows.sum() - len(rows))
        if model.emission == "gaussian_full":
            size = model.means_.shape[1]
            return free + int(k * (size + size * (size + 1) // 2))
        return free + int(model.rates_.size if model.emission == "poisson" else 2 * model.means_.size)

    @property
    def stationary_(self) -> FloatArray:
        """Share of each state in the long run, from the first states on (ndarray of shape (n_components,)).

        Examples
        --------
        >>> from topicloom import HMM
        >>> model = HMM(2, method="em", random_state=0).fit([["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5)
        >>> bool(abs(model.stationary_.sum() - 1) < 1e-9)
        True
        """
        check_is_fitted(self, "seed_")
        moves = (np.eye(len(self.initial_)) + self.transition_) / 2  # which has the same shares, and no cycles
        for _ in range(60):
            moves = np.einsum("ij,jk->ik", moves, moves)
            moves /= moves.sum(axis=1, keepdims=True)
        found: FloatArray = np.einsum("i,ij->j", self.initial_, moves)
        return np.asarray(found / found.sum())


_MOVES = ("initial", "transition")


def _draws_of(
    model: Any, chain: Chain, seen: Observed, published: Int64Array, n_draws: int, thin: int
) -> dict[str, FloatArray]:
    """Draws [n_draws, ...] of one chain."""
    sampler, prior, k = model._chain_sampler(), chain.prior, model.n_components
    state = gibbs.restore(seen, chain.state.z, k)
    found: dict[str, list[FloatArray]] = {}
    for number in range(n_draws):
        first = Key(model.seed_, chain.index, chain.sweep + number * thin + 1)
        state, _, _ = sampler.run(model.corpus_, state, prior, first, Schedule(), thin)
        rng = stream(model.seed_, Purpose.PARAMETERS, chain.index, first.sweep)
        known = gibbs.draw_known(state, seen, prior, rng)
        order = matched(published, state.z[0], k)
        moves = known.moves[:k][order][:, order]
        own = {"initial": known.moves[k][order], "transition": moves}
        own |= {name: value[order] for name, value in usual(prior, known).items()}
        for name, value in own.items():
            found.setdefault(name, []).append(value)
    return {name: np.array(values) for name, values in found.items()}


def matched(published: AnyArray, path: AnyArray, n_states: int) -> Int64Array:
    """For each published state, the path's own number of it: together they agree at as many places as can be."""
    from scipy.optimize import linear_sum_assignment  # a fit of one path needs none of it

    both = np.bincount(published * n_states + path.astype(np.int64), minlength=n_states * n_states)
    return np.asarray(linear_sum_assignment(-both.reshape(n_states, n_states))[1], np.int64)
