"""Attacks on what is promised: damage, hostile files, slow decoders, full disks, foreign hands."""
