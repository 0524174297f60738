"""The event engine, and the one observation table every policy reads (``docs/simulator.md``)."""
