"""Spread affinities from a few pairs over the neighbour graph of all rows."""
