"""Topics that stand for labels: Labeled LDA, Prior-LDA, Dependency-LDA."""
