"""Local and holistic features: speed, and what they find."""
