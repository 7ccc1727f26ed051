"""SOLIS: sparse online learning of similarity against its rivals and yardsticks."""
