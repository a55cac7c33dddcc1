"""Whose recording a file is, from the names of folders and files and from what the files store.

In: the files of a study with their facts. Out: a `SubjectAssignment` a file, and the `Subject`s they make together. What
the user says comes first; then rule after rule is asked, and the first that has an answer counts. Files of one label
in several places may be of one person or of two: that is decided last.

Read `assign` (the rules in the order they are asked), then `stored_names`, `folder_names` and `file_names` (the rules),
`evidence` (what speaks for or against one person), `join` (the same label in several places), `assignment` (the value).
"""
