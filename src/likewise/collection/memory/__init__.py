"""The log of judgements folded into weights: what was said, and what follows from it."""
