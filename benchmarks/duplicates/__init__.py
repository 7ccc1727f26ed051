"""Near-duplicates: planted copies found, look-alikes told apart."""
