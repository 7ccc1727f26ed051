"""Metrics and maps learned from judgements, as similarities by name."""
