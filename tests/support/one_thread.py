"""Imported first: linear algebra in one thread, in this process and in those that share the tests."""

from biodyn.threads import use_one_thread

use_one_thread()
