"""`openagent context`, the real program."""

from .machine import Machine, shell


def test_a_context_is_shown_collected_pinned_and_restored(machine: Machine) -> None:
    machine.sim.reset({"loop": True, "steps": [shell("seq 1 2000", text="Looking."), {"text": "Done."}]})
    session = machine.turn("turn 1")
    for turn in range(2, 8):
        machine.turn(f"turn {turn}", "--continue")

    def said(*arguments: str) -> str:
        ran = machine.run("context", *arguments)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    shown = said("show", session)
    assert "of 128,000 tokens" in shown
    assert "tool: shell" in shown
    assert "Nothing was compacted." in shown
    assert said("pin", session, "1") == "Message 1 is pinned.\n"
    assert said("compact", session, "--collector", "evict", "--dry-run").startswith("Would leave out the text of")
    done = machine.json("compact", session, "--collector", "truncate")
    assert done["done"]
    assert all(low > 1 for low, _ in done["hidden"]), "what is pinned stays"
    after = said("show", session)
    assert "pinned" in after
    assert "holds" in after
    assert said("restore", session).startswith("Restored ")
    assert "restored" in said("show", session)
    assert said("unpin", session, "1") == "Message 1 is no longer pinned.\n"
    refused = machine.run("context", "restore", session)
    assert refused.returncode == 1
    assert "Nothing was collected here." in refused.stderr
