"""Learn from what people say: the log, profiles, comparisons, metrics and maps."""
