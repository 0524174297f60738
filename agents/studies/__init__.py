"""What is asked of a trained scheduler beyond its score: pages, curves, shipping."""
