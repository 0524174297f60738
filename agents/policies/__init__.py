"""What decides after training: our own network, a file of Stable-Baselines3, and their files."""
