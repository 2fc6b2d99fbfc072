"""The figures of a report, and films of episodes."""
