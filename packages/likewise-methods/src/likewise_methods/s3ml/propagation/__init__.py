"""Spread what is known of a few pairs over the neighbour graph of all rows."""
