"""The first minute: how soon a folder of photographs can be searched."""
