"""The network that ranks tasks: its features, compiled and in torch."""
