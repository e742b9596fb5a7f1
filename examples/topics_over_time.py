"""Shares of topics over time with 90% intervals, and which topics rise: speeches from 1790 to 2020."""

from topicloom import CompoundLDA, datasets

corpus = datasets.addresses()
centuries = corpus.times // 100 * 100  # 1700, 1800, 1900, 2000

model = CompoundLDA(6, max_iter=150, random_state=0).fit(corpus, groups=centuries)
for row in model.prevalence(frame="rows"):
    if row["topic"] == 0:
        print(f"from {row['collection']} on: {row['mean']:.1%} ({row['lower']:.1%} to {row['upper']:.1%})")

for row in model.trends(frame="rows"):
    words = " ".join(model.top_words(4)[row["topic"]])
    print(f"{words:45} {100 * row['mean']:+.1%} per century, P(rises) = {row['probability']:.2f}")
