"""Hostile pictures, slow decoders, half-open connections: each costs itself."""
