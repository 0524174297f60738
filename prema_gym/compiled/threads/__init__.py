"""How compiled code of several threads works together."""
