"""A server under load that is killed again and again: what was acknowledged must be there."""
