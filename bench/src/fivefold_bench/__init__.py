"""Benchmarks: commands that print a table, with a baseline in the same run."""
