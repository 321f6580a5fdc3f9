"""No layer is there for nothing: without it, one of the zoo gets out."""

from __future__ import annotations

import json

import pytest
from tests.bots.plugins import importable
from tests.zoo.keeper import Zoo, keeper
from tests.zoo.layers import LAYERS, USER, Layer, needed, without
from tests.zoo.show import column, golden
from tests.zoo.user import as_user

from ronda_arena.isolation import Level

pytestmark = pytest.mark.outside  # it needs Landlock and libseccomp: more than Python


@pytest.mark.parametrize("layer", LAYERS, ids=[layer.name for layer in LAYERS])
def test_where_one_layer_is_missing_a_bot_gets_out(layer: Layer) -> None:
    if not needed(layer):
        pytest.skip(f"this layer is for {layer.only} alone")
    assert without(layer) == layer.without
    if layer.bot != "servers-environment":
        assert golden()[layer.bot][column(layer.level)] != layer.without


def test_where_one_layer_is_missing_a_bot_gets_out_of_what_a_user_runs() -> None:
    seen = json.loads(as_user("-m", "tests.zoo.layers"))
    expected = {layer.name: layer.without for layer in LAYERS if layer.only == USER}
    assert seen["without"] == expected
    assert seen["hidden server"] == "plays on, held"


@pytest.mark.parametrize("bot", ["searches-the-heap", "climbs-the-stack", "remembers-in-a-module"])
def test_in_this_process_a_bot_finds_the_match_and_remembers_it(
    bot: str, zoo: Zoo, capfd: pytest.CaptureFixture[str]
) -> None:
    with importable(zoo.site), keeper(zoo, Level.TRUSTED) as host:
        assert host.play(bot).ended == "plays on"
    assert "[zoo] leak" in capfd.readouterr().out
