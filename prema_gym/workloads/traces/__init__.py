"""How are recorded requests replayed? Their files, what they say, and when they arrive here."""
