"""Judging policies: episodes, statistics, records."""
