"""Every op beside those of sessions, at its address."""

from collections.abc import Mapping
from typing import Any

from openagent.gateway.rest.endpoint import Endpoint, Paging
from openagent.protocol import (
    agents,
    context,
    customizing,
    files,
    flows,
    grants,
    mcp,
    metrics,
    search,
    tasks,
    templates,
    tokens,
    tools,
    usage,
)
from openagent.protocol.auth import AuthAdd, AuthList, AuthLogin, AuthLoginFinish, AuthRefresh, AuthRemove
from openagent.protocol.configuration import ConfigShow
from openagent.protocol.daemon import DaemonStatus, DaemonStop
from openagent.protocol.index import IndexAsk, IndexBuild, IndexMap, IndexSearch, IndexSetup, IndexSymbols
from openagent.protocol.models import ModelsList, ModelsPull, ModelsTest
from openagent.protocol.safety import AuditAsk, AuditPage, PolicyExplain, PolicyTest, TrustAdd, TrustRemove, TrustShow
from openagent.protocol.tools import ToolsList
from openagent.protocol.usage import UsageAsk
from openagent.protocol.workspaces import (
    WorkspacesCollect,
    WorkspacesCreate,
    WorkspacesDiff,
    WorkspacesList,
    WorkspacesMerge,
    WorkspacesRemove,
    WorkspacesRestore,
)


def _older_entries(page: AuditPage) -> Mapping[str, Any] | None:
    return None if page.next is None else {"before": page.next}


_ID = {"id": "session"}
_COPY = {"id": "copy"}

FILES = [
    Endpoint(
        "GET", "/api/agents/{id}/files", files.FilesList, "A directory of the workspace.", names=_ID, left_out=("copy",)
    ),
    Endpoint("GET", "/api/agents/{id}/files/content", files.FilesRead, "A file.", names=_ID, left_out=("copy",)),
    Endpoint("PUT", "/api/agents/{id}/files/content", files.FilesWrite, "Write a file.", names=_ID, left_out=("copy",)),
]
CONTEXT = [
    Endpoint("GET", "/api/agents/{id}/context", context.ContextShow, "What the model would be shown.", names=_ID),
    Endpoint("POST", "/api/agents/{id}/context/collect", context.ContextCollect, "Shrink the context.", names=_ID),
    Endpoint("POST", "/api/agents/{id}/context/restore", context.ContextRestore, "Take a collection back.", names=_ID),
    Endpoint("POST", "/api/agents/{id}/context/pin", context.ContextPin, "Keep a message from collectors.", names=_ID),
]
MCP = [
    Endpoint("GET", "/api/mcp/servers", mcp.McpList, "List MCP servers."),
    Endpoint("POST", "/api/mcp/servers", mcp.McpAdd, "Register an MCP server."),
    Endpoint("POST", "/api/mcp/servers/{name}/test", mcp.McpTest, "Start a server and tell what it offers."),
    Endpoint("POST", "/api/mcp/servers/{name}/switch", mcp.McpSwitch, "Enable or disable a server."),
    Endpoint("DELETE", "/api/mcp/servers/{name}", mcp.McpRemove, "Remove a server."),
    Endpoint("POST", "/api/mcp/import", mcp.McpImport, "Take over another program's servers."),
    Endpoint("GET", "/api/mcp/catalog", mcp.McpCatalog, "Servers that are known."),
    Endpoint("GET", "/api/mcp/resources", mcp.McpResources, "What servers let one read."),
    Endpoint("GET", "/api/mcp/prompts", mcp.McpPrompts, "The servers' prompts."),
]
CONFIGURATION = [
    Endpoint("GET", "/api/config", ConfigShow, "The settings and where each came from."),
    Endpoint("GET", "/api/config/agent-templates", templates.TemplatesList, "List agent templates."),
    Endpoint("POST", "/api/config/agent-templates", templates.TemplatesSave, "Create an agent template.", status=201),
    Endpoint("GET", "/api/config/agent-templates/{name}", templates.TemplatesGet, "One template."),
    Endpoint("DELETE", "/api/config/agent-templates/{name}", templates.TemplatesRemove, "Remove a template."),
    Endpoint("GET", "/api/config/agent-templates/{name}/export", templates.TemplatesExport, "As a Markdown file."),
    Endpoint("POST", "/api/config/agent-templates/import", templates.TemplatesImport, "From a Markdown file."),
    Endpoint("GET", "/api/config/commands", customizing.CommandsList, "The slash commands."),
    Endpoint("GET", "/api/config/skills", customizing.SkillsList, "The skills."),
    Endpoint("GET", "/api/config/skills/{name}", customizing.SkillShow, "One skill."),
    Endpoint("GET", "/api/config/hooks", customizing.HooksList, "The hooks."),
    Endpoint("GET", "/api/config/plugins", customizing.PluginsList, "The plugins."),
]
METRICS = [
    Endpoint("GET", "/api/metrics/agents", metrics.MetricsAgents, "Per-agent performance."),
    Endpoint("GET", "/api/metrics/mcp-health", mcp.McpList, "How the MCP servers are."),
    Endpoint("GET", "/api/metrics/cost-analysis", metrics.MetricsCost, "Cost breakdown and projections."),
    Endpoint("GET", "/api/usage", UsageAsk, "Tokens and money, summed up."),
    Endpoint("GET", "/api/usage/failures", usage.UsageFailures, "What went wrong, by day and kind."),
]
WORKSPACES = [
    Endpoint("GET", "/api/workspaces", WorkspacesList, "List copies of workspaces."),
    Endpoint("POST", "/api/workspaces", WorkspacesCreate, "Copy a workspace.", status=201),
    Endpoint("DELETE", "/api/workspaces/{id}", WorkspacesRemove, "Remove a copy.", names=_COPY),
    Endpoint("GET", "/api/workspaces/{id}/diff", WorkspacesDiff, "What a copy has changed.", names=_COPY),
    Endpoint("POST", "/api/workspaces/{id}/merge", WorkspacesMerge, "Bring changes back.", names=_COPY),
    Endpoint(
        "GET", "/api/workspaces/{id}/files", files.FilesList, "List a copy's files.", names=_COPY, left_out=("session",)
    ),
    Endpoint("POST", "/api/workspaces/restore", WorkspacesRestore, "Unpack a backup."),
    Endpoint("POST", "/api/workspaces/collect", WorkspacesCollect, "Give back space nobody needs."),
]
AUTH = [
    Endpoint("GET", "/api/auth", AuthList, "The credentials, as far as anybody may see them."),
    Endpoint("POST", "/api/auth", AuthAdd, "Keep an API key.", status=201),
    Endpoint("DELETE", "/api/auth/{name}", AuthRemove, "Forget a key or a login."),
    Endpoint("POST", "/api/auth/{provider}/login", AuthLogin, "Start a login."),
    Endpoint("POST", "/api/auth/logins/{login}", AuthLoginFinish, "Finish a login."),
    Endpoint("POST", "/api/auth/{provider}/refresh", AuthRefresh, "Renew a login."),
    Endpoint("GET", "/api/tokens", tokens.TokensList, "The tokens, and the browsers that are logged in."),
    Endpoint("POST", "/api/tokens", tokens.TokensCreate, "Make a token; its secret is told once.", status=201),
    Endpoint("DELETE", "/api/tokens/{token}", tokens.TokensRevoke, "Revoke a token."),
]
MODELS = [
    Endpoint("GET", "/api/models", ModelsList, "What the providers offer."),
    Endpoint("POST", "/api/models/test", ModelsTest, "Ask models for one token."),
    Endpoint("POST", "/api/models/pull", ModelsPull, "Install an offline model."),
    Endpoint("GET", "/api/tools", ToolsList, "The tools there are.", left_out=("session",)),
    Endpoint("POST", "/api/tools/{name}/switch", tools.ToolsSwitch, "Give agents a tool, or take it away."),
]
SAFETY = [
    Endpoint("POST", "/api/policy/explain", PolicyExplain, "What would be decided about a command."),
    Endpoint("POST", "/api/policy/test", PolicyTest, "Whether the rules do what their examples say."),
    Endpoint("GET", "/api/grants", grants.GrantsList, "What is allowed without being asked for, by a person's word."),
    Endpoint("DELETE", "/api/grants/{grant}", grants.GrantsRevoke, "Take a grant back."),
    Endpoint("GET", "/api/trust", TrustShow, "The trusted folders."),
    Endpoint("POST", "/api/trust", TrustAdd, "Trust a folder.", status=201),
    Endpoint("DELETE", "/api/trust", TrustRemove, "Trust a folder no longer."),
    Endpoint(
        "GET",
        "/api/audit",
        AuditAsk,
        "What was decided, run and written, newest first.",
        paging=Paging("entries", _older_entries, ("before",)),
    ),
]
INDEX = [
    Endpoint("GET", "/api/index", IndexAsk, "How a workspace's index is."),
    Endpoint("POST", "/api/index/build", IndexBuild, "Bring an index up to date."),
    Endpoint("GET", "/api/index/search", IndexSearch, "Search code."),
    Endpoint("GET", "/api/index/symbols/{name}", IndexSymbols, "Where a name is defined and used."),
    Endpoint("GET", "/api/index/map", IndexMap, "What is used most."),
    Endpoint("POST", "/api/index/setup", IndexSetup, "Install the model that searches by meaning."),
    Endpoint("GET", "/api/search", search.MessagesSearch, "Find messages of all agents."),
]
TEAM = [
    Endpoint("GET", "/api/tree", agents.AgentsList, "Agents and their sub-agents."),
    Endpoint("GET", "/api/flows", flows.FlowsList, "The flows of a project."),
    Endpoint("POST", "/api/flows", flows.FlowRun, "Run a flow.", status=202),
    Endpoint("POST", "/api/flows/check", flows.FlowCheck, "Whether a flow could run."),
    Endpoint("GET", "/api/flows/{id}", flows.FlowShow, "How a flow is doing.", names=_ID),
    Endpoint("POST", "/api/flows/{id}/resume", flows.FlowResume, "Go on with a flow.", names=_ID, status=202),
]
TASKS = [
    Endpoint("GET", "/api/tasks", tasks.TasksList, "List tasks, by state and place."),
    Endpoint("POST", "/api/tasks", tasks.TaskCreate, "Create a task.", status=201),
    Endpoint("POST", "/api/tasks/sync", tasks.TasksSync, "Bring the board and `docs/TASKS.md` together."),
    Endpoint("GET", "/api/tasks/{task}", tasks.TaskGet, "One task."),
    Endpoint("PATCH", "/api/tasks/{task}", tasks.TaskUpdate, "Change a task."),
    Endpoint("DELETE", "/api/tasks/{task}", tasks.TaskDelete, "Delete a task."),
]
DAEMON = [
    Endpoint("GET", "/api/status", DaemonStatus, "How the daemon is."),
    Endpoint("POST", "/api/stop", DaemonStop, "End the daemon; running turns are saved."),
]
ENDPOINTS = [
    *FILES, *CONTEXT, *MCP, *CONFIGURATION, *METRICS, *WORKSPACES,
    *AUTH, *MODELS, *SAFETY, *INDEX, *TEAM, *TASKS, *DAEMON,
]  # fmt: skip
