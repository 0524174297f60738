"""Training by gradients, with Stable-Baselines3."""
