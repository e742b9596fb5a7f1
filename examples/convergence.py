"""Do several chains agree? The verdict, R-hat and effective draws, and what to do if the answer is no."""

from topicloom import LDA, datasets
from topicloom.diagnostics import diagnose

corpus = datasets.synthetic_lda(n_docs=60, n_words=60, n_topics=3, doc_length=60, seed=2).corpus

priors = {"doc_topic_prior": 0.3, "topic_word_prior": 0.1}  # given, not learned: fewer things to agree on
short = LDA(3, **priors, n_chains=4, max_iter=20, trace_every=1, random_state=0).fit(corpus)
print(short.verdict_)

longer = LDA(3, **priors, n_chains=4, max_iter=1000, trace_every=5, random_state=0).fit(corpus)  # or max_iter="auto"
print(longer.verdict_)
for row in diagnose(longer).rows():
    print(f"{row.name:35} R-hat {row.rhat:.2f}, effective draws {row.ess_bulk:.0f}")
