"""Tags suggested from tagged pictures, with evidence, confidence and undo."""
