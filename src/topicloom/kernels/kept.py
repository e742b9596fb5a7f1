"""What samplers by lists keep of a topic, in one cache line: with many topics each line may have to come from far."""

# n_k, Σβ, 1 / (n_k + Σβ), the same with one token less, which is ready before a token asks for it, and of the current
# document α_k, n_dk and the topic's place among the document's
TOTAL, BETA_SUM, INVERSE, INVERSE_OUT, ALPHA, DOC, PLACE = range(7)
NOWHERE = -1.0  # the place of a topic that the document has not had
LINE = 8  # float64 numbers in a cache line, which is what a topic has
