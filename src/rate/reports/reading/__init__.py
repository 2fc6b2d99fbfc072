"""What a report reads and computes: runs, seeds that belong together, scores, learning curves."""
