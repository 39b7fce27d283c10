"""The values that every layer shares. They know nothing of stores, models or interfaces."""
