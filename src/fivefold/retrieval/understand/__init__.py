"""What a question asks: its words, names, times and kind."""
