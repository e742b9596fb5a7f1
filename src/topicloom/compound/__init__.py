"""Topics across collections: compound LDA."""
