"""Topics across collections: compound LDA.

Words for things: documents come with labels, one each, such as years (``groups``). All documents with one label are a
*collection*, and what a fitted model tells about collections is in ``collections``. The topic *mixture* π_j of a
collection is drawn by Gibbs sampling (``mixtures``) or fitted by variational EM (``vem``).
"""
