"""Training by an evolution strategy."""
