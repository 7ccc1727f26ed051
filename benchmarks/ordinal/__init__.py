"""Ordinal embedding: SVRG-SBB against its rivals, at scale, and on what people said."""
