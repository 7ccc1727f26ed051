"""Metrics and maps learned from what people said, as similarities by name."""
