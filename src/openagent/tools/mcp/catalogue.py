"""Known servers, and the settings they need. What is here is not installed: an entry says how."""

from openagent.protocol.mcp import McpCatalogueEntry, McpServerEntry, McpSetting

_SERVERS = "https://github.com/modelcontextprotocol/servers"


def _npm(package: str) -> str:
    return f"npm install -g {package}"


def _pip(package: str) -> str:
    return f"pipx install {package}"


CATALOGUE = (
    McpCatalogueEntry(
        name="fetch",
        about="Reads web pages as Markdown.",
        server=McpServerEntry(command="mcp-server-fetch", network="on"),
        install=_pip("mcp-server-fetch"),
        page=_SERVERS,
    ),
    McpCatalogueEntry(
        name="filesystem",
        about="Reads, writes and searches files of the workspace.",
        server=McpServerEntry(command="mcp-server-filesystem", args=["."]),
        install=_npm("@modelcontextprotocol/server-filesystem"),
        page=_SERVERS,
    ),
    McpCatalogueEntry(
        name="git",
        about="Status, diff, log, commit and branches of a repository.",
        server=McpServerEntry(command="mcp-server-git", args=["--repository", "."]),
        install=_pip("mcp-server-git"),
        page=_SERVERS,
    ),
    McpCatalogueEntry(
        name="github",
        about="Repositories, issues, pull requests and actions on GitHub.",
        server=McpServerEntry(
            kind="http",
            url="https://api.githubcopilot.com/mcp/",
            headers={"Authorization": "Bearer ${GITHUB_PERSONAL_ACCESS_TOKEN}"},
        ),
        needs=[McpSetting("GITHUB_PERSONAL_ACCESS_TOKEN", "A personal access token, from your GitHub settings.")],
        page="https://github.com/github/github-mcp-server",
    ),
    McpCatalogueEntry(
        name="gitlab",
        about="Projects, issues and merge requests on GitLab. `openagent mcp login gitlab` logs in.",
        server=McpServerEntry(kind="http", url="${GITLAB_URL:-https://gitlab.com}/api/v4/mcp"),
        needs=[McpSetting("GITLAB_URL", "Of your own GitLab; gitlab.com when not set.", required=False)],
        page="https://docs.gitlab.com/user/gitlab_duo/model_context_protocol/mcp_server/",
    ),
    McpCatalogueEntry(
        name="linear",
        about="Issues and projects in Linear. `openagent mcp login linear` logs in.",
        server=McpServerEntry(kind="http", url="https://mcp.linear.app/mcp"),
        page="https://linear.app/docs/mcp",
    ),
    McpCatalogueEntry(
        name="memory",
        about="A knowledge graph that outlives sessions, in a file of the workspace.",
        # It takes a relative path for one in its own folder, which cannot be written.
        server=McpServerEntry(
            command="mcp-server-memory", env={"MEMORY_FILE_PATH": "${workspaceFolder}/.openagent-memory.jsonl"}
        ),
        needs=[McpSetting("MEMORY_FILE_PATH", "Where it is kept.", required=False)],
        install=_npm("@modelcontextprotocol/server-memory"),
        page=_SERVERS,
    ),
    McpCatalogueEntry(
        name="notion",
        about="Pages and databases in Notion. `openagent mcp login notion` logs in.",
        server=McpServerEntry(kind="http", url="https://mcp.notion.com/mcp"),
        page="https://developers.notion.com/docs/mcp",
    ),
    McpCatalogueEntry(
        name="playwright",
        about="Drives a browser by what is on the page.",
        # A browser's own sandbox cannot be set up inside another, which the jail is.
        server=McpServerEntry(
            command="playwright-mcp", args=["--headless", "--isolated", "--no-sandbox"], network="on"
        ),
        install=_npm("@playwright/mcp"),
        page="https://github.com/microsoft/playwright-mcp",
    ),
    McpCatalogueEntry(
        name="postgres",
        about="Reads schemas and runs read-only queries on PostgreSQL.",
        server=McpServerEntry(command="mcp-server-postgres", args=["${POSTGRES_URL}"], network="on"),
        needs=[McpSetting("POSTGRES_URL", "postgresql://user:password@host/database, of a user who may only read.")],
        install=_npm("@modelcontextprotocol/server-postgres"),
        page=_SERVERS,
    ),
    McpCatalogueEntry(
        name="sentry",
        about="Errors and performance in Sentry. `openagent mcp login sentry` logs in.",
        server=McpServerEntry(kind="http", url="https://mcp.sentry.dev/mcp"),
        page="https://docs.sentry.io/product/sentry-mcp/",
    ),
    McpCatalogueEntry(
        name="slack",
        about="Channels, messages and users of a Slack workspace.",
        server=McpServerEntry(
            command="mcp-server-slack",
            env={"SLACK_BOT_TOKEN": "${SLACK_BOT_TOKEN}", "SLACK_TEAM_ID": "${SLACK_TEAM_ID}"},
            network="on",
        ),
        needs=[
            McpSetting("SLACK_BOT_TOKEN", "xoxb-…, of a Slack app that is installed in the workspace."),
            McpSetting("SLACK_TEAM_ID", "T…, the workspace's id."),
        ],
        install=_npm("@modelcontextprotocol/server-slack"),
        page=_SERVERS,
    ),
    McpCatalogueEntry(
        name="sqlite",
        about="Tables and queries of a SQLite database.",
        server=McpServerEntry(command="mcp-server-sqlite", args=["--db-path", "${SQLITE_PATH}"]),
        needs=[McpSetting("SQLITE_PATH", "The database file, in the workspace.")],
        # Written for the first SDK, and takes the second when nobody says so.
        install=f"{_pip('mcp-server-sqlite')} && pipx inject mcp-server-sqlite 'mcp<2'",
        page=_SERVERS,
    ),
    McpCatalogueEntry(
        name="time",
        about="The time, anywhere.",
        server=McpServerEntry(command="mcp-server-time"),
        install=_pip("mcp-server-time"),
        page=_SERVERS,
    ),
)
