"""A MALLET state file: read it, get CGS_p estimates, diagnose its topics, make a page."""

from topicloom import LDA, datasets, estimates, mallet
from topicloom.diagnostics import topic_diagnostics
from topicloom.explore import explore_state

# In place of `mallet train-topics --output-state state.gz`:
corpus = datasets.addresses()
chain = LDA(5, max_iter=80, random_state=0).fit(corpus).chains_[0]
mallet.write_state("state.gz", corpus, chain.state, chain.prior)

found = mallet.read_state("state.gz")
counts = estimates.topic_counts(*found, "cgs_p")
theta = estimates.theta(counts.doc, 1, found.corpus, found.prior)  # documents × topics
phi = estimates.phi(counts.word, 1, found.prior)  # words × topics
for topic, row in enumerate(topic_diagnostics(found).rows()):
    words = [found.corpus.vocabulary[v] for v in phi[:, topic].argsort()[::-1][:5]]
    print(topic, f"coherence {row['coherence']:.0f}", *words)
print("first document:", theta[0].round(2))
explore_state("state.gz", "mallet.html", documents=10)
