"""Learning that stays: the space a collection is fitted with, measured."""
