"""Answers: live views over all rows, searches, and why a hit is one."""
