"""The page and its JSON API: a collection behind HTTP, on this machine by default."""
