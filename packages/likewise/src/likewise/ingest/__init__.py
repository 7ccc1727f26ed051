"""How a collection grows: pictures taken in, words learned, generations switched."""
