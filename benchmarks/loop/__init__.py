"""Judgements in rounds: what a profile and a query learn, and (``loop.latency``) how fast."""
