"""The loop: judgements, undo, profiles, lessons, and what they do to the lists."""
