"""Add pictures to a collection, let spaces learn, and switch generations."""
