"""How large is large: one machine with 10,000 to ten million pictures; ``make bench-scale``."""
