"""Reads and shows text: lexemes, names, times, tokens, and text that is safe on a screen."""
