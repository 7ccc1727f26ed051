"""Visual words: training time and quality of vocabularies."""
