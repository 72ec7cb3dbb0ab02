"""The import contract that holds every room to its line in pyproject.toml."""

import tomllib
from pathlib import Path

from grimp import ImportGraph

from scripts.rooms import RoomsContract

ROOT = Path(__file__).parents[2]


def lines() -> list[str]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return next(each["may_import"] for each in contracts if each["type"] == "rooms")


def house(*imports: tuple[str, str]) -> ImportGraph:
    """Of these imports, with all the rooms there are."""
    graph = ImportGraph()
    graph.add_module("openagent")
    graph.add_module("devtools")
    for line in lines():
        room = line.partition(":")[0]
        graph.add_module(room if room.startswith("devtools.") else f"openagent.{room}")
    for importer, imported in imports:
        graph.add_import(importer=importer, imported=imported)
    return graph


def problems(graph: ImportGraph) -> list[str]:
    contract = RoomsContract(name="", session_options={}, contract_options={"may_import": lines()})
    check = contract.check(graph, verbose=False)
    found = [*check.metadata["strangers"], *check.metadata["crossed"]]
    assert check.kept == (not found)
    return found


def test_a_room_imports_what_its_line_allows():
    assert not problems(house(("openagent.core.turn", "openagent.plugins.tool"), ("openagent.cli.run", "openagent")))


def test_an_import_that_its_line_does_not_allow_is_told():
    (told,) = problems(house(("openagent.tools.shell", "openagent.jail.bwrap")))
    assert "openagent.tools.shell imports openagent.jail.bwrap" in told


def test_a_feature_does_not_import_another_of_its_floor():
    assert problems(house(("openagent.agents.team", "openagent.workbench.files")))


def test_what_is_not_shipped_is_held_too():
    assert problems(house(("devtools.simulator.server", "openagent.protocol.events")))


def test_a_new_room_needs_a_line():
    graph = house()
    graph.add_module("openagent.newcomer")
    assert problems(graph) == ["newcomer"]
