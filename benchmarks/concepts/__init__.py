"""How fast a concept is learned from yes and no: our learner, its rivals, the product's query."""
