"""How compiled code of several threads works together: atomics, rounds, a worker pool."""
