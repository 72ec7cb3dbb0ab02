"""`commands.*`, `skills.*`, `hooks.*` and `plugins.*`."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from openagent.config.cache import ConfigCache
from openagent.core.runtime import ModelResolver
from openagent.customizing.commands import CommandFiles, ServerPrompts
from openagent.customizing.folders import CustomFolders
from openagent.customizing.gate import CustomGate
from openagent.customizing.hook_files import HookFiles, concerns
from openagent.customizing.hook_forms import EVENTS
from openagent.customizing.hook_runs import HookRun, StartInJail
from openagent.customizing.rules import RuleTexts
from openagent.customizing.skills import SkillFiles
from openagent.customizing.tool_names import input_for_hooks, our_tools, theirs
from openagent.daemon.bus import EventBus
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.daemon.loaded_sessions import LoadedSessions
from openagent.plugins.loading import PluginLoader
from openagent.plugins.tool import Tool
from openagent.protocol import customizing as c
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.messages import ToolCallPart
from openagent.protocol.sessions import SessionInfo

MoreTools = Callable[[SessionInfo], Awaitable[Sequence[Tool]]]


class Customizing:
    def __init__(
        self,
        configs: ConfigCache,
        start_in_jail: StartInJail,
        plugins: PluginLoader,
        built_in: Sequence[Tool],
        prompts: ServerPrompts,
        *,
        loaded: LoadedSessions,
        bus: EventBus,
        check_model: ModelResolver,
    ) -> None:
        self._folders = folders = CustomFolders(configs)
        self._rules = RuleTexts(folders)
        self.skills = SkillFiles(folders)
        self.commands = CommandFiles(folders, prompts)
        self._hooks = HookFiles(folders)
        self.gate = CustomGate(
            self._rules,
            self.skills,
            self.commands,
            self._hooks,
            start_in_jail=start_in_jail,
            loaded=loaded,
            bus=bus,
            check_model=check_model,
        )
        self._plugins = plugins
        self._taken = [tool.name for tool in built_in]

    def tools_beside(self, others: MoreTools) -> MoreTools:
        """Those of plugins and skills, and then the others."""

        async def tools(info: SessionInfo) -> Sequence[Tool]:
            own = [*self._plugins.tools(self._taken), *self.skills.tools(Path(info.cwd))]
            return [*own, *await others(info)]

        return tools

    def notices(self, workspace: Path) -> list[ErrorInfo]:
        """What a person should know before an agent works there."""
        left_out = [ErrorInfo("config_error", problem) for problem in self._hooks.find(workspace).problems]
        return [*self._rules.notices(workspace), *left_out]

    def handlers(self) -> list[Handler]:
        return [
            c.PluginsList.handled_by(self._plugins_list),
            c.CommandsList.handled_by(self._commands_list),
            c.SkillsList.handled_by(self._skills_list),
            c.SkillShow.handled_by(self._skill_show),
            c.HooksList.handled_by(self._hooks_list),
            c.HooksTest.handled_by(self._hooks_test),
        ]

    async def _plugins_list(self, connection: Connection, op: c.PluginsList) -> c.Plugins:
        plugins = await asyncio.to_thread(self._plugins.examine, self._taken)
        notices: list[str] = []
        bundles = await asyncio.to_thread(self._bundles, notices)
        return c.Plugins(plugins, bundles, notices)

    def _bundles(self, notices: list[str]) -> list[c.PluginBundle]:
        skills, commands = self.skills.find(None).skills.values(), self.commands.find(None).commands.values()
        hooks = self._hooks.find(None).hooks
        found: list[c.PluginBundle] = []
        for plugin in self._folders.plugins(notices):
            agents = [file for place in plugin.places("agents") for file in place.rglob("*.md")]
            counts = {
                "agents": len(agents),
                "skills": sum(Path(each.folder).is_relative_to(plugin.folder.resolve()) for each in skills),
                "commands": sum(Path(each.source).is_relative_to(plugin.folder.resolve()) for each in commands),
                "hooks": sum(each.root == str(plugin.folder) for each in hooks),
                "MCP servers": plugin.count_servers(),
            }
            brings = [f"{count} {kind}" for kind, count in counts.items() if count]
            found.append(
                c.PluginBundle(
                    plugin.name,
                    str(plugin.folder),
                    plugin.form,
                    plugin.version,
                    plugin.description,
                    brings,
                    plugin.unused(),
                )
            )
        return found

    async def _commands_list(self, connection: Connection, op: c.CommandsList) -> c.SlashCommands:
        found = await self.commands.all(_workspace(op.cwd))
        return c.SlashCommands(sorted(found.commands.values(), key=lambda each: each.name), found.problems)

    async def _skills_list(self, connection: Connection, op: c.SkillsList) -> c.Skills:
        found = await asyncio.to_thread(self.skills.find, _workspace(op.cwd))
        return c.Skills(sorted(found.skills.values(), key=lambda each: each.name), found.problems)

    async def _skill_show(self, connection: Connection, op: c.SkillShow) -> c.SkillContent:
        return await asyncio.to_thread(self.skills.show, op.name, _workspace(op.cwd))

    async def _hooks_list(self, connection: Connection, op: c.HooksList) -> c.Hooks:
        found = self._hooks.find(_workspace(op.cwd), anew=True)
        return c.Hooks(found.hooks, [*found.problems, *found.asleep])

    async def _hooks_test(self, connection: Connection, op: c.HooksTest) -> c.HooksTried:
        workspace = _workspace(op.cwd)
        if workspace is None or not workspace.is_dir():
            raise OpenAgentError("invalid_argument", f"{op.cwd!r} is not a directory.", hint="Name an existing one.")
        if op.event not in EVENTS:
            raise OpenAgentError(
                "invalid_argument", f"There is no event {op.event!r}.", hint=f"There are: {', '.join(EVENTS)}."
            )
        found = self._hooks.find(workspace, anew=True)
        facts = {"session_id": "test", "transcript_path": "", "cwd": op.cwd, "permission_mode": "default"}
        subject = ""
        if op.tool:
            subject = our_tools(op.tool)[0]
            call = ToolCallPart("test", subject, op.input)
            facts |= {"tool_name": theirs(subject), "tool_input": input_for_hooks(call, op.cwd), "tool_use_id": "test"}
        else:
            facts |= op.input
        hooks = [
            hook
            for hook in found.by_event.get(op.event, [])
            if not subject or concerns(hook, subject, facts, workspace)
        ]
        runs = await self.gate.try_all(hooks, workspace, facts)
        return c.HooksTried([_tried(run) for run in runs], found.problems)


def _tried(run: HookRun) -> c.HookTried:
    detail = run.stops or run.reason or run.context or run.message
    return c.HookTried(run.hook, run.outcome, run.exit_code, run.stdout, run.stderr, detail, run.duration_ms)


def _workspace(cwd: str) -> Path | None:
    return Path(cwd) if cwd else None
