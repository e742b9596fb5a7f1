"""The hierarchical Dirichlet process: topics whose number is learned.

``topics`` draws the topics of all tokens, ``weights`` those of the process: numbers of tables, topics' weights and the
two concentrations.
"""
