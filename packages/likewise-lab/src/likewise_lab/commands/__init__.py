"""Commands that this package adds: demo, evaluate dataset, models classify."""
