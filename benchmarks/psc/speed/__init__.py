"""Product sparse coding's speed: the cost of a code, convergence, peers."""
