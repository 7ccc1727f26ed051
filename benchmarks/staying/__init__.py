"""Learning that stays: a space fitted to its collection, and judgements that serve later queries.

Parts by name: ``space`` and ``learning`` (this folder's ``report``), ``territory``, ``scale``.
"""
