"""How text is read and shown: lexemes, names, times, tokens, and what is safe on a screen."""
