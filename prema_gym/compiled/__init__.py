"""How code is compiled, and what compiled code needs that Numba does not give."""
