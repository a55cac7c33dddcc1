"""Whose recording a file is, from the names of folders and files and from what the files store.

In: the files of a study with their facts. Out: a `SubjectAssignment` a file, and the `Subject`s they make together.

Read `assign` (the rules in the order they are asked), then `stored_names`, `folder_names` and `file_names` (the rules),
`evidence` (what speaks for or against one person), `join` (the same label in several places), `assignment` (the value).
"""
