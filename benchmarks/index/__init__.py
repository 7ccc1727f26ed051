"""The inverted index: size, speed and exactness against other ways of sparse search."""
