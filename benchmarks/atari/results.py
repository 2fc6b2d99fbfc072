"""The table of the suite `atari` from its raw files, and the paper's columns beside it.

    python benchmarks/atari/results.py [DIRECTORY]

DIRECTORY holds atari/GAME/MODEL/seedN, as `runs` does; by default it is `suite`, beside this file. Scores of random
actions and of the player are read from `behaviour/returns_1500.jsonl`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from tables import (
    OVER,
    TIME_HEAD,
    TIMES,
    Runs,
    cell,
    data_return,
    print_table,
    read_given,
    scores,
    time_rows,
)

from rate.recipes.atari import TABLE

HERE = Path(__file__).parent
PLAYERS = HERE / "behaviour" / "returns_1500.jsonl"
PAPER = {
    "breakout": "111.0±2.9 76.9±27.3 42.8 62.5 70.6±9.3 106.9±5.8",
    "qbert": "12,486.9±280.4 2,215.8±1,523.7 2,862.0 14,013.2 5,786.0±1,295.2 10,052.5±1,116.5",
    "seaquest": "1,037.9±53.7 1,129.3±189.0 992.1 782.2 992.1±57.7 1,286.0±42.0",
    "pong": "18.8±0.3 17.1±2.9 6.4 18.8 1.6±15.3 18.4±0.8",
}
COLUMNS = ("RATE", "DT", "BC", "CQL", "DMamba (Ota)", "MambaDM")
"""Of the paper's table."""
DIFFERS = (
    "The paper's columns are of other data and longer games: 500,000 steps of DQN-replay, and episodes to their end. "
    "Here scripted players made the data, and the games of data, players and models are cut after 1,500 steps. "
    "Compare the order of models and the distance to the data, not the scores."
)


def players() -> dict[tuple[str, str], list[float]]:
    """Game and player to the score of each episode."""
    found: dict[tuple[str, str], list[float]] = {}
    for line in map(json.loads, PLAYERS.read_text().splitlines()):
        found.setdefault((line["game"], line["player"]), []).append(line["score"])
    return found


def rows(runs: Runs) -> list[tuple[str, ...]]:
    """A row per game: what random actions, the player and its data reach, our models, the paper's."""
    table, played = [], players()
    for game, paper in PAPER.items():
        beside = [cell([played[game, name]]) for name in ("random", "spread=0.0")]
        data = data_return(runs, game)
        ours = [cell(scores(runs.get((game, model), ()))) for model in TABLE]
        theirs = [value.replace("±", " ± ") for value in paper.split()]
        table.append((game, *beside, "" if data is None else f"{data:,.1f}", *ours, *theirs))
    return table


def main() -> None:
    (runs,) = read_given(HERE, ("atari",))
    models = (f"`{model}`" for model in TABLE)
    head = ("game", "random", "player", "data", *models, *(f"paper: {name}" for name in COLUMNS))
    print_table("**Four games**, score", head, rows(runs))
    print(f"{OVER} The player is shown without errors; those in its data are drawn for each episode.\n\n{DIFFERS}\n")
    for game in PAPER:
        print_table(
            f"**Times**, {game}", TIME_HEAD, time_rows({key: runs[key] for key in runs if key[0] == game}, TABLE)
        )
    print(TIMES)


if __name__ == "__main__":
    main()
