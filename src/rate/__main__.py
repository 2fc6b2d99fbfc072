"""`python -m rate`."""

from rate.cli.main import entry

entry()
