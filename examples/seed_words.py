"""Topics that begin from words of yours: give some topics their first words, and let the rest find their own."""

from topicloom import LDA, datasets

corpus = datasets.addresses()
seeds = {
    0: ["forces", "peace", "military"],
    1: ["health", "schools", "education"],
    2: ["treasury", "bonds", "currency"],
}

model = LDA(8, seed_words=seeds, max_iter=100, random_state=0).fit(corpus)
model.set_topic_names({0: "war and peace", 1: "care", 2: "money"})
for label, words in zip(model.topic_labels(2), model.top_words(6), strict=True):
    print(f"{label}: {' '.join(words)}")
