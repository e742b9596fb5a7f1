"""log p(w, z | α, β) with the parameters integrated out (CVB eq. 7), from counts in either form."""

import numpy as np

from topicloom.corpus.corpus import Corpus, once
from topicloom.engine import counts
from topicloom.engine.blocks import Range
from topicloom.engine.prior import Prior
from topicloom.engine.state import AnyState
from topicloom.engine.threads import cut, run_parallel

_AT_ONCE = 1 << 17  # tokens in a part of a sum over documents or words


@once
def parts_of_sums(corpus: Corpus) -> tuple[list[Range], list[Range]]:
    """Documents and words in parts for threads, which depend on the corpus alone: sums are added up in one order."""
    n = -(-corpus.n_tokens // _AT_ONCE) or 1
    return cut(corpus.doc_lengths, n), cut(corpus.word_counts, n)


def log_joint_words(corpus: Corpus, state: AnyState, prior: Prior, n_jobs: int = 1) -> float:
    """log p(w | z, β), φ integrated out."""
    parts = run_parallel(lambda words: state.log_joint_words(words, prior), parts_of_sums(corpus)[1], n_jobs)
    return float(counts.log_joint_totals(state.topic, prior.beta_sum) + sum(parts))


def log_joint(corpus: Corpus, state: AnyState, prior: Prior, n_jobs: int = 1) -> float:
    """log p(w, z | α, β), parameters integrated out."""
    alpha_sum = prior.alpha.sum(axis=1)

    def of_part(docs: Range) -> float:
        doc = np.zeros(prior.n_topics, np.int64)
        return counts.log_joint_documents(docs[0], docs[1], corpus.doc_ptr, state.z, prior, alpha_sum, doc, 0.0)

    documents = sum(run_parallel(of_part, parts_of_sums(corpus)[0], n_jobs))
    return documents + log_joint_words(corpus, state, prior, n_jobs)
