"""The first minute with a collection, as somebody new to it meets it."""
