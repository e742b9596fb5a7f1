"""Variational inference for LDA."""
