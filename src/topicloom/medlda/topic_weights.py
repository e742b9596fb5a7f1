"""What the weights of supervised topics say: which topics speak for what, and how sure it is."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from topicloom._types import FloatArray
from topicloom.corpus.frames import to_frame
from topicloom.engine.estimator import inputs, tables
from topicloom.errors import InputError

if TYPE_CHECKING:
    from topicloom.evaluation.collections import Interval


class TopicWeights:
    """The part of a supervised model that shows its weights."""

    n_chains: int
    best_chain_: int
    log_joint_: FloatArray
    vocabulary_: tuple[str, ...]
    _groups: list[list[int]]
    _by_words: FloatArray  # [chains, V, K] expected counts plus β
    _etas: list[FloatArray]  # [K, tasks] of each chain

    def _directions(self) -> list[tuple[Any, int, float]]:
        """Name, task and sign of what topics may push toward."""
        raise NotImplementedError

    @property
    def coef_(self) -> FloatArray:
        """Weights of the topics, the mean over kept samples.

        Returns
        -------
        ndarray of shape (n_tasks, n_components)
            Each task is as in the best chain that serves it.
        """
        check_is_fitted(self, "seed_")
        return np.concatenate([self._etas[self._best_of(group)].T for group in range(len(self._groups))])

    def coef_interval(self, level: float = 0.9) -> "Interval":
        """How sure the posterior is of the weights: means and equal-tailed intervals of the draws that were kept.

        Draws are those of the fit, before ``calibrate`` refits the weights to topics of new documents, so ``coef_``
        need not lie between the limits. Each task's are of the chain that ``coef_`` is of.

        Parameters
        ----------
        level : float, default=0.9
            Probability of the intervals.

        Returns
        -------
        Interval
            ``mean``, ``lower`` and ``upper``, each of shape (n_tasks, n_components). Limits are quantiles p(S + 1) of S
            draws, as of ``topicloom.evaluation.draw_interval``. With few draws they are the least and the largest, so
            keep 19 or more for 90%.

        Raises
        ------
        InputError
            If no weights were kept.

        Examples
        --------
        >>> from topicloom import MedLDARegressor
        >>> model = MedLDARegressor(2, max_iter=60, thin=2, keep_draws="coef", random_state=0)
        >>> found = model.fit(["good fine", "bad poor"] * 20, [5.0, 1.0] * 20).coef_interval()
        >>> bool((found.lower < found.upper).all()), found.mean.shape
        (True, (1, 2))
        """
        from topicloom.evaluation.collections import Interval as Found
        from topicloom.evaluation.collections import draw_interval

        check_is_fitted(self, "seed_")
        kept = self.draws_.get("coef", np.zeros(0))  # type: ignore[attr-defined]  # a fitted model has them
        shape = (len(self._by_words), len(self._groups[0]), self._by_words.shape[2])
        if kept.ndim != 4 or (kept.shape[0], *kept.shape[2:]) != shape:
            raise InputError('the fit kept no draws of the weights; fit with keep_draws="coef" for intervals.')
        own = [draw_interval(kept[self._best_of(group)], level) for group in range(len(self._groups))]
        return Found(*(np.concatenate(part) for part in zip(*own, strict=True)))

    def _best_of(self, group: int) -> int:
        """Of the chains that serve a group of tasks the published one or, in other groups, the likeliest."""
        first = group * self.n_chains
        if first <= self.best_chain_ < first + self.n_chains:
            return self.best_chain_
        return first + int(np.argmax(self.log_joint_[first : first + self.n_chains]))

    def class_topics(self, n_topics: int = 3, n_words: int = 8, *, frame: str | None = None) -> Any:
        """The topics that push most toward each class.

        Parameters
        ----------
        n_topics : int, default=3
            Topics per class.
        n_words : int, default=8
            Words per topic, the most probable first.
        frame : {"pandas", "polars", "pyarrow", "rows"}, optional
            Kind of the table. None takes pandas, otherwise polars, otherwise plain rows.

        Returns
        -------
        DataFrame, pyarrow.Table or Rows
            Columns ``class``, ``topic``, ``weight`` and ``words``, and ``name`` if topics have names. For numbers the
            classes are "low" and "high".

        Examples
        --------
        >>> from topicloom import MedLDAClassifier
        >>> model = MedLDAClassifier(2, random_state=0).fit(["goal team", "law party"] * 20, ["sport", "state"] * 20)
        >>> model.class_topics(n_topics=1, n_words=1, frame="pandas")["class"].tolist()
        ['sport', 'state']
        """
        return to_frame(self._class_topic_columns(n_topics, n_words), frame)

    def _class_topic_columns(self, n_topics: int, n_words: int) -> dict[str, Any]:
        rows = self.class_topic_rows(n_topics, n_words)
        names = ("class", "topic", "weight", "words")
        columns: dict[str, Any] = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        # Names are those of the published chain's topics; other groups of tasks have topics of their own.
        names_of = self.topic_names_ if len(self._groups) == 1 else None  # type: ignore[attr-defined]  # as above
        return tables.with_names(columns, names_of)

    def class_topic_rows(self, n_topics: int = 3, n_words: int = 8) -> list[tuple[Any, int, float, str]]:
        """``class_topics`` as a list of tuples, without a data frame.

        Parameters
        ----------
        n_topics : int, default=3
            Topics per class.
        n_words : int, default=8
            Words per topic, the most probable first.

        Returns
        -------
        list of tuple
            Class, topic, weight and words.

        Examples
        --------
        >>> from topicloom import MedLDAClassifier
        >>> model = MedLDAClassifier(2, random_state=0).fit(["goal team", "law party"] * 20, ["sport", "state"] * 20)
        >>> [words for _, _, _, words in model.class_topic_rows(n_topics=1, n_words=2)]
        ['goal team', 'law party']
        """
        check_is_fitted(self, "seed_")
        inputs.check_whole("n_topics", n_topics, 1)
        inputs.check_whole("n_words", n_words, 1)
        group_of = {task: group for group, own in enumerate(self._groups) for task in own}
        rows: list[tuple[Any, int, float, str]] = []
        coef = self.coef_
        for name, task, sign in self._directions():
            by_word = self._by_words[self._best_of(group_of[task])]
            words = tables.top_words((by_word / by_word.sum(axis=0)).T, self.vocabulary_, n_words)
            order = np.argsort(-sign * coef[task], kind="stable")[:n_topics].tolist()
            rows += [(name, k, float(sign * coef[task, k]), " ".join(words[k])) for k in order]
        return rows
