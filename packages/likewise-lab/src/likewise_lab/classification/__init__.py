"""A classifier of pictures, trained from folders."""
