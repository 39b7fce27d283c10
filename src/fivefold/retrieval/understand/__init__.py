"""Reads a question: its words, names, times and kind."""
