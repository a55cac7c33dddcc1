"""Interpretation of a laboratory's labels: each is split into a side and words, and the labels of a file are interpreted
together.

Input: the labels of a recording. Output: for each label its landmark or segment, or that it is unknown; for an ambiguous label
its possible meanings (`label_resolution.read_labels`).

Read `spelling` (capitals, accents, separators, common prefixes; the letters of the side, found by their counterparts among the
other labels), `label_dictionary` (words of `library/body/label_words.toml`, and the anatomical set), then `label_resolution`.
The meaning of a label is defined once, in the anatomical set; other sets list their labels and differences only.
"""
