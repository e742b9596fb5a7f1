"""What every fitted model can do: scikit-learn's protocol, checks of input, saving, tables."""
