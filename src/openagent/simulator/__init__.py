"""A server that speaks the model providers' wire formats from a script, with faults on request.

README.md beside this file describes the script, the faults and the control plane. In short:

    async with Simulator([{"text": "Hello!"}]) as sim:
        ...  # point any client at sim.base_url

    openagent simulator --script FILE [--port N] [--host H] [--require-key KEY]
"""

from openagent.simulator.faults import Fault
from openagent.simulator.records import Record
from openagent.simulator.script import Script, ScriptError, Step, ToolCall, load_script
from openagent.simulator.server import Simulator
from openagent.simulator.threaded import ThreadedSimulator

__all__ = [
    "Fault",
    "Record",
    "Script",
    "ScriptError",
    "Simulator",
    "Step",
    "ThreadedSimulator",
    "ToolCall",
    "load_script",
]
