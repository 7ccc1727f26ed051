"""How long the library's questions take in a collection of tens of thousands of photographs."""
