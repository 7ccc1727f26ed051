"""Suggested tags of the product: quality, confidence, and cost at scale."""
