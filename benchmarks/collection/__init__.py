"""The embedded engine: pictures taken in a second, searches, opening, up to a million pictures."""
