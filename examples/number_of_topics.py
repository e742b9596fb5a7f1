"""How many topics? A search with standard errors, on documents from a model with five topics."""

from topicloom.datasets import synthetic_lda
from topicloom.diagnostics import search_topics

corpus = synthetic_lda(n_docs=100, n_words=80, n_topics=5, doc_length=40, seed=0).corpus
search = search_topics(corpus, [2, 5, 10], n_chains=2, max_iter=60, random_state=0)
for row in search.rows():
    print(f"{row['n_topics']:3} topics: {row['completion']:.3f} +- {row['completion_se']:.3f} log-likelihood per word")
print("recommended:", search.recommended)
print(search)
