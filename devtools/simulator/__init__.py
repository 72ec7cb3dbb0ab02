"""A server that speaks the model providers' wire formats from a script, with faults on request.

README.md beside this file describes the script, the faults and the control plane. In short:

    async with Simulator([{"text": "Hello!"}]) as sim:
        ...  # point any client at sim.base_url

    python -m devtools.simulator --script FILE [--port N] [--host H] [--require-key KEY]
"""

from devtools.simulator.faults import Fault
from devtools.simulator.records import Record
from devtools.simulator.script import Script, ScriptError, Step, ToolCall, load_script
from devtools.simulator.server import Simulator
from devtools.simulator.threaded import ThreadedSimulator

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
