"""Everyday lives: what people ask their own memory, judged as they would judge the answers."""
