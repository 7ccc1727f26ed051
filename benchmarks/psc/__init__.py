"""Product sparse coding: classification, retrieval, and (``psc.speed``) the cost of a code."""
