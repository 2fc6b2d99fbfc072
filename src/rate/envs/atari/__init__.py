"""Atari: four games of the Arcade Learning Environment under the paper's protocol, with players that look ahead.
`emulator` is the environment, `tasks` registers the games, `paddle`, `qbert` and `seaquest` play them.
"""

from __future__ import annotations

from rate.envs.atari.tasks import NAMES

__all__ = ["NAMES"]
