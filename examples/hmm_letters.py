"""Vowels and consonants: a hidden Markov model with two states finds them in the letters of English text."""

import re

from topicloom import HMM, datasets

texts = datasets.addresses().texts[::8]
letters = [list(re.sub(r"[^a-z]+", "_", text.lower())[:1200]) for text in texts]

# Single chains may end in a poor solution: several, of which the likeliest is published.
model = HMM(2, n_chains=8, max_iter=120, random_state=0).fit(letters)
print("log joint probability of each chain:", [round(trace.log_joint[-1]) for trace in model.traces_])
for state, own in enumerate(model.emission_):
    other = model.emission_[1 - state]
    print("state", state, *(model.alphabet_[v] for v in own.argsort()[::-1] if own[v] > other[v]))
print("a vowel or _ follows:", model.transition_.round(2).tolist())
