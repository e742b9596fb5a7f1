"""What a fitted hidden Markov model says of sequences: probabilities, states, new sequences."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from topicloom._types import FloatArray
from topicloom.corpus._checks import shown
from topicloom.engine.estimator import inputs
from topicloom.engine.estimator.fitted import FittedModel
from topicloom.errors import InputError
from topicloom.hmm import forward_backward, sequences
from topicloom.hmm.state import Parameters, make_parameters


class SequenceModel(FittedModel):
    """A fitted model of sequences. Subclasses bring the parameters and ``fit``."""

    initial_: FloatArray
    transition_: FloatArray
    emission_: FloatArray
    alphabet_: sequences.Alphabet

    def _parameters(self) -> Parameters:
        check_is_fitted(self, "seed_")
        return make_parameters(self.initial_, self.transition_, self.emission_)

    def score_samples(self, X: Any, lengths: Any = None) -> FloatArray:
        """log P(w) of every sequence, exactly, by the forward pass.

        Parameters
        ----------
        X : list of sequences, one sequence or a Corpus
            As in ``fit``.
        lengths : list of int, optional
            Length of each sequence, if X is all of them end to end.

        Returns
        -------
        ndarray of shape (n_sequences,)
            −∞ for a sequence that is impossible.

        Examples
        --------
        >>> from topicloom import HMM
        >>> model = HMM(2, method="em", random_state=0).fit([["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5)
        >>> model.score_samples([["a", "b"], ["b"]]).shape
        (2,)
        """
        given = self._parameters()
        return forward_backward.log_likelihoods(sequences.new_corpus(X, self.alphabet_, lengths)[0], given)

    def score(self, X: Any, lengths: Any = None) -> float:
        """log P(w) of all sequences together.

        Parameters
        ----------
        X : list of sequences, one sequence or a Corpus
            As in ``fit``.
        lengths : list of int, optional
            Length of each sequence, if X is all of them end to end.

        Returns
        -------
        float
            Higher is better.

        Examples
        --------
        >>> from topicloom import HMM
        >>> model = HMM(2, method="em", random_state=0).fit([["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5)
        >>> model.score(["a", "b"]) > model.score(["b", "a"])
        True
        """
        return float(self.score_samples(X, lengths).sum())

    def decode(
        self, X: Any, method: Literal["viterbi", "posterior"] = "viterbi", *, lengths: Any = None
    ) -> tuple[FloatArray, Any]:
        """Hidden states of every sequence, and their log probability.

        Parameters
        ----------
        X : list of sequences, one sequence or a Corpus
            As in ``fit``.
        method : {"viterbi", "posterior"}, default="viterbi"
            "viterbi" finds the most probable path. "posterior" takes the most probable state at each place.
        lengths : list of int, optional
            Length of each sequence, if X is all of them end to end.

        Returns
        -------
        log_probability : ndarray of shape (n_sequences,)
            log P(path, w) for "viterbi", log P(w) for "posterior". A number for one sequence given alone.
        states : list of ndarray
            States of each sequence. One vector for one sequence given alone, and with ``lengths``.

        Raises
        ------
        InputError
            If a symbol is not in the alphabet, or a sequence has probability 0.

        Examples
        --------
        >>> from topicloom import HMM
        >>> model = HMM(2, method="em", random_state=0).fit([["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5)
        >>> value, states = model.decode(["a", "a", "b"])
        >>> len(states), bool(states[0] != states[2])
        (3, True)
        """
        given = self._parameters()
        inputs.check_choice("method", method, ("viterbi", "posterior"))
        corpus, single = sequences.new_corpus(X, self.alphabet_, lengths)
        if method == "viterbi":
            values, states = forward_backward.best_paths(corpus, given)
        else:
            values, shares = forward_backward.posteriors(corpus, given)
            states = [share.argmax(axis=1) for share in shares]
        _check_possible(values)
        if lengths is not None:
            return values, np.concatenate(states)
        return (values[0], states[0]) if single else (values, states)

    def predict(self, X: Any, lengths: Any = None) -> Any:
        """The most probable path of every sequence (Viterbi).

        Parameters
        ----------
        X : list of sequences, one sequence or a Corpus
            As in ``fit``.
        lengths : list of int, optional
            Length of each sequence, if X is all of them end to end.

        Returns
        -------
        list of ndarray
            States of each sequence. One vector for one sequence given alone, and with ``lengths``.

        Raises
        ------
        InputError
            If a symbol is not in the alphabet, or a sequence has probability 0.

        Examples
        --------
        >>> from topicloom import HMM
        >>> model = HMM(2, method="em", random_state=0).fit([["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5)
        >>> path = model.predict(["a", "a", "b"])
        >>> bool(path[0] == path[1] != path[2])
        True
        """
        return self.decode(X, lengths=lengths)[1]

    def predict_proba(self, X: Any, lengths: Any = None) -> Any:
        """Probabilities of the states at each place, given the whole sequence.

        Parameters
        ----------
        X : list of sequences, one sequence or a Corpus
            As in ``fit``.
        lengths : list of int, optional
            Length of each sequence, if X is all of them end to end.

        Returns
        -------
        list of ndarray of shape (length, n_components)
            A matrix per sequence, whose rows sum to 1. One matrix for one sequence given alone, and with ``lengths``.

        Raises
        ------
        InputError
            If a symbol is not in the alphabet, or a sequence has probability 0.

        Examples
        --------
        >>> from topicloom import HMM
        >>> model = HMM(2, method="em", random_state=0).fit([["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5)
        >>> model.predict_proba(["a", "a", "b"]).shape
        (3, 2)
        """
        given = self._parameters()
        corpus, single = sequences.new_corpus(X, self.alphabet_, lengths)
        values, shares = forward_backward.posteriors(corpus, given)
        _check_possible(values)
        if lengths is not None:
            return np.concatenate(shares)
        return shares[0] if single else shares

    def sample(self, lengths: int | Sequence[int], random_state: Any = None) -> tuple[Any, Any]:
        """Draw states and sequences from the fitted model.

        Parameters
        ----------
        lengths : int or list of int
            Length of each sequence.
        random_state : int or numpy.random.RandomState, optional
            The seed.

        Returns
        -------
        states : list of ndarray
            Hidden states of each sequence. One vector for one length.
        sequences : list
            Symbols of each sequence: vectors of whole numbers, or lists of symbols. One sequence for one length.

        Examples
        --------
        >>> from topicloom import HMM
        >>> model = HMM(2, method="em", random_state=0).fit([["a", "a", "b", "b"], ["a", "b", "b", "b"]] * 5)
        >>> states, symbols = model.sample([5, 8], random_state=0)
        >>> [len(own) for own in symbols]
        [5, 8]
        """
        given = self._parameters()
        single = isinstance(lengths, int | np.integer)
        several = cast(Any, lengths)
        if not single and (isinstance(several, str) or not isinstance(several, Iterable)):
            raise InputError(f"lengths={shown(lengths)} must be a whole number, or a list of them.")
        sizes = [inputs.check_whole("lengths", n, 0) for n in ([lengths] if single else several)]
        states, symbols = forward_backward.simulate(given, np.array(sizes, np.int64), inputs.draw_seed(random_state))
        if sequences.is_counted(self.alphabet_):
            drawn: list[Any] = [values.astype(np.int64) for values in symbols]
        else:
            drawn = [[self.alphabet_[v] for v in values] for values in symbols]
        return (states[0], drawn[0]) if single else (states, drawn)


def _check_possible(values: FloatArray) -> None:
    if np.any(np.isneginf(values)):
        raise InputError(
            f"sequence {int(np.argmax(np.isneginf(values)))} has probability 0 under this model, so it has no states. "
            'A prior above 1 (or method="gibbs") leaves nothing impossible.'
        )
