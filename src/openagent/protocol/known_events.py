"""Written by scripts/words.py from what the events say of themselves. `make docs` renews it."""

# ruff: noqa: E501 -- templates are written in one piece

from openagent.protocol.telling import Line

LINES = {
    "session.deleted": (Line("The session was deleted.", "error"),),
    "message.queued": (Line("Queued; it is next when this turn has ended.", "plain", when="!in_line"),),
    "turn.waiting": (
        Line("Waiting for other turns to end: number {place} of {waiting} in line.", "plain", when="!limit"),
        Line("{limit}, so this one waits: number {place} of {waiting} in line.", "plain", when="limit"),
    ),
    "session.presence": (Line("Here now: {who}.", "plain"),),
    "queue.changed": (
        Line(
            "Held back, since the turn before was cancelled: {queued:messages}.",
            "warning",
            hint="They follow the next message, or `openagent sessions queue {session} --resume`.",
            when="held",
        ),
    ),
    "budget.warning": (
        Line(
            "{spent:money} of the session's {limit:money} are spent.",
            "warning",
            hint="At the limit it stops: /budget raises it.",
            when="scope!=day",
        ),
        Line(
            "{spent:money} of today's {limit:money} are spent.",
            "warning",
            hint="At the limit every session stops: openagent config set budget.day_usd raises it.",
            when="scope=day",
        ),
    ),
    "budget.exceeded": (
        Line(
            "The session's budget of {limit:money} does not cover the next request.",
            "error",
            hint="/budget raises it.",
            when="scope!=day",
        ),
        Line(
            "Today's budget of {limit:money} does not cover the next request.",
            "error",
            hint="openagent config set budget.day_usd raises it.",
            when="scope=day",
        ),
    ),
    "context.threshold": (Line("The context is {percent:percent} full.", "plain"),),
    "context.collected": (
        Line(
            "Older messages were put away to make room, by {collector}: {tokens_before:number} → {tokens_after:number} tokens.",
            "plain",
            detail="{summary}",
            when="!note",
        ),
        Line(
            "Older messages were put away to make room, by {collector}: {tokens_before:number} → {tokens_after:number} tokens.",
            "warning",
            hint="{note}",
            detail="{summary}",
            when="note",
        ),
    ),
    "context.restored": (
        Line("The model sees again what was put away: {tokens_before:number} → {tokens_after:number} tokens.", "plain"),
    ),
    "context.pinned": (
        Line("Message {message_number} is pinned: no collection takes it away.", "plain", when="pinned"),
        Line("Message {message_number} is no longer pinned.", "plain", when="!pinned"),
    ),
    "intent.detected": (
        Line(
            "Taken for {intent.type} ({intent.confidence:part})[, tools: {tools:list}].",
            "plain",
            when="used intent.type!=research",
        ),
        Line(
            "Taken for {intent.type} ({intent.confidence:part}), searching for “{intent.query}”[, tools: {tools:list}].",
            "plain",
            when="used intent.type=research",
        ),
        Line("{note}", "plain", when="!used note"),
    ),
    "retry.scheduled": (
        Line("Retrying in {delay_s:seconds} ({attempt} of {max_attempts}): {error.message}", "warning", when="delay_s"),
        Line("Retrying ({attempt} of {max_attempts}): {error.message}", "warning", when="!delay_s"),
    ),
    "provider.failed_over": (Line("{to_model} goes on in place of {from_model}:", "warning", hint="{reason}"),),
    "model.routed": (Line("Answered by {model}:", "plain", hint="{reason}"),),
    "login.required": (
        Line(
            "The login to {provider} has ended.",
            "warning",
            hint="Log in again: openagent auth login {provider}",
            detail="{reason}",
        ),
    ),
    "subagent.started": (Line("→ {template} ({child}): {task:line}", "plain"),),
    "subagent.finished": (
        Line("← {template} ({child}) is done, {cost_usd:usd}[, {changed:files} merged].", "plain", when="reason=done"),
        Line(
            "← {template} ({child}) ended: {reason:words}, {cost_usd:usd}[, {changed:files} merged].",
            "plain",
            hint="{error.message}",
            when="reason!=done",
        ),
        Line(
            "{template} left edits that did not come back[: conflicts in {conflicts:list}].",
            "warning",
            hint="Look with `openagent workspaces diff {copy}`.",
            when="copy",
        ),
    ),
    "flow.started": (Line("The flow {name} begins: {steps:list}.", "plain"),),
    "flow.step": (
        Line("▸ {step}", "plain", when="state=running !round"),
        Line("{step}, round {round}", "plain", when="state=running round"),
        Line("{step} is {state:words}[: {text:line}]", "plain", when="state!=running"),
    ),
    "flow.finished": (
        Line("The flow is done, {cost_usd:usd}.", "plain", when="state=done"),
        Line("The flow is {state:words}, {cost_usd:usd}.", "warning", hint="{error.message}", when="state!=done"),
    ),
    "checkpoint.restored": (
        Line(
            "Went back to before turn {turn}.",
            "warning",
            hint="The model no longer knows what came since.[ {others:files} that others changed stayed as they are.]",
            when="undo conversation",
        ),
        Line(
            "Undid the changes to files since turn {turn}.",
            "warning",
            hint="[{others:files} that others changed stayed as they are.]",
            when="undo !conversation !reverted",
        ),
        Line("Changes to {reverted} were reverted.", "warning", when="undo reverted"),
        Line("The changes to {reverted} are back.", "warning", when="!undo reverted"),
        Line(
            "The rewind was taken back.",
            "warning",
            hint="[{others:files} that others changed stayed as they are.]",
            when="!undo !reverted",
        ),
    ),
    "mcp.late": (
        Line("Waiting for the MCP server {server}, at most {seconds:seconds}.", "plain", when="state=awaited"),
        Line(
            "The MCP server {server} is still starting. The turn goes on without it and gets its tools when it is up.",
            "warning",
            when="state=left_out",
        ),
        Line("The MCP server {server} is up, its tools can be used: {tools:number}.", "plain", when="state=joined"),
        Line("The MCP server {server} could not be started.", "warning", hint="{detail}", when="state=failed"),
    ),
    "background.started": (Line("{command_id} goes on in the background: {command:line}", "plain"),),
    "background.finished": (
        Line("{command_id} was ended in the background; how far it had come is not known.", "warning", when="lost"),
        Line("{command_id} ended in the background[ with exit code {exit_code}].", "plain", when="!lost"),
    ),
    "shell.replaced": (
        Line(
            "{mode} mode has a new shell: what was defined in the old one and what ran in it is gone.",
            "plain",
            hint="The directory and plain variables are kept.",
        ),
    ),
    "hook.ran": (Line("hook {hook} {outcome}[: {detail}]", "warning", when="outcome!=done"),),
    "error": (Line("{error.message}", "error", hint="{error.hint}"),),
}
"""Events that are told in lines."""
