"""What runs: how a policy goes through an episode, by segments, in a window or from token to token."""
