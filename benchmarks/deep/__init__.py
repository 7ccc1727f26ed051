"""Deep spaces against visual words: retrieval, cost, and (``deep.loop``) feedback on them."""
