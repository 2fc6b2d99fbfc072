"""The errors a user can cause.

The command line prints them in one line and leaves with exit code 2; anything else is a defect of the library.
"""

from __future__ import annotations


class RateError(Exception):
    """Something the user can put right; the message says what is wrong and what to do."""


class ConfigError(RateError):
    """A configuration that cannot work."""


class UnknownNameError(ConfigError):
    """A name that is not known where it is used."""


class StoredCodeError(ConfigError):
    """A file names an environment that would have to be imported; only the user may name what is imported."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"a file names the environment {name}, which is code; it is imported only if you name it "
            f"(in Python: env={name!r})"
        )

    def __reduce__(self) -> tuple[type[StoredCodeError], tuple[str]]:
        return StoredCodeError, (self.name,)


class DataError(RateError):
    """A data set that is missing, damaged, empty or of another environment."""


class CheckpointError(RateError):
    """A checkpoint or run directory that cannot be used."""


class MissingExtraError(RateError):
    """An optional dependency that is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; install it with: pip install 'rate-rl[{extra}]'")
        self._names = package, extra

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        return MissingExtraError, self._names  # its message alone would not make it again in another process


class MissingLibraryError(RateError):
    """A library of the system, not of Python, that is not installed."""


class DivergedError(RateError):
    """Training met a loss that is not finite."""


class LeftError(RateError):
    """The first of several processes has said, or will say, why there is no training: the others say nothing."""
