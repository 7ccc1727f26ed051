"""What stays as a collection grows and is used: memory and time."""
