"""Learning: the log of judgements, profiles, comparisons, metrics and maps."""
