"""Typed words: are the right pictures found, and how soon?"""
