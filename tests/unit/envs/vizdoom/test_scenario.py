"""The file that is shipped is what the text says."""

from __future__ import annotations

from rate.envs.vizdoom.scenario import BARE, MAPS, PILLARS, WAD, lumps, textmap, wad


def test_the_script_writes_the_file_byte_for_byte() -> None:
    assert WAD.read_bytes() == wad()
    assert all(len(name) <= 8 for name, _ in lumps())


def test_maps_differ_in_the_pillar_alone() -> None:
    bare = textmap(MAPS[BARE])
    assert sorted([*PILLARS.values(), BARE]) == sorted(MAPS)
    for name in PILLARS.values():
        text = textmap(MAPS[name])
        assert text.startswith(bare) and text.removeprefix(bare).count("\n") == 1
