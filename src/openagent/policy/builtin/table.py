"""All commands that are known."""

from openagent.policy.builtin.calls import Handler
from openagent.policy.builtin.code import CODE
from openagent.policy.builtin.files import FILES
from openagent.policy.builtin.git import git
from openagent.policy.builtin.network import NETWORK
from openagent.policy.builtin.packages import PACKAGES
from openagent.policy.builtin.readonly import READ_ONLY
from openagent.policy.builtin.system import SYSTEM
from openagent.policy.builtin.wrappers import WRAPPERS

COMMANDS: dict[str, Handler] = {
    **PACKAGES,
    **NETWORK,
    **SYSTEM,
    **FILES,
    **CODE,
    **READ_ONLY,
    **WRAPPERS,
    "git": git,
}
