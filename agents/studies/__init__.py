"""What is asked of a trained scheduler beyond its score: other conditions, timelines, shipping."""
