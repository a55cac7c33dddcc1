"""Result folders: what biodyn writes into one, what of it is biodyn's own, and how older ones are read.

Nothing that biodyn did not write is ever removed or replaced, and a folder appears whole or not at all.
"""
