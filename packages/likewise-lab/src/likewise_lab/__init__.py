"""Likewise for research and demonstrations: planted views, evaluation, a classifier, the demo.

The product finds the commands of this package by its entry points and never imports it.
"""
