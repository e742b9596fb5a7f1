"""A data frame of reviews: topics of its texts, their share per rating with intervals, and ratings predicted."""

import numpy as np
import pandas as pd

from topicloom import CompoundLDA, MedLDARegressor

rng = np.random.default_rng(0)
words = {"good": ["fresh", "rich", "smooth", "friendly"], "bad": ["stale", "bitter", "late", "rude"]}
rows = []
for _ in range(200):  # made up: the more stars, the more good words
    stars = int(rng.integers(1, 6))
    text = [str(rng.choice(words["good" if rng.random() < (stars - 0.5) / 5 else "bad"])) for _ in range(12)]
    rows.append({"review": " ".join(text), "stars": stars})
reviews = pd.DataFrame(rows)

by_stars = CompoundLDA(2, max_iter=100, random_state=0).fit(reviews, text="review", group="stars")
print(by_stars.top_words(5))
print(by_stars.prevalence(frame="pandas").query("topic == 0").round(2).to_string(index=False))

model = MedLDARegressor(4, calibrate=True, random_state=0).fit(reviews[:150], text="review", response="stars")
print("R² on new reviews:", round(model.score(reviews[150:]), 2))
