"""Attacks on what is promised: damage, hostile files, full disks, foreign hands."""
