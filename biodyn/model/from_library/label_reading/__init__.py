"""What a laboratory's labels mean: each is cut into a side and words, and the labels of one file are judged together.

Goes in: the labels of a recording. Comes out: for each label the landmark, the segment, or that it stays unknown, with what it
could be where it could be more than one thing (`meanings.read_labels`).

Read `spelling` (capitals, accents, separators, shared prefixes; which letters are the side, by their mirror images among the
other labels), `words` (cutting the rest into words of `library/body/label_words.toml`, and the dictionary of the anatomical
set), then `meanings` (labels of one file against each other). What a label means is defined once, in the anatomical set;
other sets list their labels and only what differs.
"""
