"""What SISO is compared with: six other ways to tag, behind the same three methods.

``knn``, ``ridge`` and ``svm`` see tagged pictures only; ``lnp``, ``egssc`` and ``lsmp`` spread tags
over a graph of pictures with and without tags (docs/methods/siso.md, (15) to (20)).
"""
