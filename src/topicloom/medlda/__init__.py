"""Supervised topics: MedLDA for classes, label sets and numbers."""
