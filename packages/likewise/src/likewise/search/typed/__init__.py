"""Search by typed words: what people wrote, tags by meaning, pictures by meaning."""
