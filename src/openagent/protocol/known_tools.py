"""Written by scripts/words.py from what the tools say of themselves. `make docs` renews it."""

from openagent.protocol.about import About

KNOWN = {
    "read_file": About(
        "read",
        ("read", "reading", "read"),
        subject="path",
        paths=("path",),
        known_as=("Read",),
        keys={"path": "file_path"},
    ),
    "write_file": About(
        "edit",
        ("write", "writing", "wrote"),
        subject="path",
        paths=("path",),
        known_as=("Write",),
        keys={"path": "file_path"},
    ),
    "edit_file": About(
        "edit",
        ("edit", "editing", "edited"),
        subject="path",
        paths=("path",),
        known_as=("Edit", "MultiEdit"),
        keys={"path": "file_path", "old": "old_string", "new": "new_string"},
    ),
    "apply_patch": About("edit", ("patch", "patching", "patched"), known_as=("MultiEdit",)),
    "list_dir": About("read", ("list", "listing", "listed"), subject="path", paths=("path",), known_as=("LS",)),
    "glob": About(
        "search", ("look for", "looking for", "looked for"), subject="pattern", paths=("path",), known_as=("Glob",)
    ),
    "grep": About(
        "search",
        ("search for", "searching for", "searched for"),
        subject="pattern",
        paths=("path",),
        known_as=("Grep",),
    ),
    "search_code": About(
        "search", ("search the code for", "searching the code for", "searched the code for"), subject="query"
    ),
    "shell": About("run", ("run", "running", "ran"), subject="command", runs="command", known_as=("Bash",)),
    "shell_output": About(
        "read",
        ("read background output", "reading background output", "read background output"),
        subject="id",
        known_as=("BashOutput", "KillShell"),
    ),
    "execute_code": About(
        "run", ("run code", "running code", "ran code"), subject="code", runs="code", known_as=("Bash",)
    ),
    "git": About(
        "run", ("run", "running", "ran"), subject="git {subcommand} {args}", runs="command", known_as=("Bash",)
    ),
    "web_fetch": About("fetch", ("fetch", "fetching", "fetched"), subject="url", urls=("url",), known_as=("WebFetch",)),
    "web_search": About(
        "fetch",
        ("search the web for", "searching the web for", "searched the web for"),
        subject="query",
        known_as=("WebSearch",),
    ),
    "ask_user": About("ask", ("ask", "asking", "asked"), subject="question", known_as=("AskUserQuestion",)),
    "todo": About("think", ("plan", "planning", "planned"), known_as=("TodoWrite",), keys={"plan": "todos"}),
    "recall": About("search", ("recall", "recalling", "recalled")),
    "agent": About("agent", ("delegate to", "delegating to", "delegated to"), known_as=("Task", "Agent")),
    "agent_result": About("agent", ("look at agent", "looking at agent", "looked at agent"), subject="agent"),
    "skill": About(
        "read", ("load the skill", "loading the skill", "loaded the skill"), subject="name", known_as=("Skill",)
    ),
    "flow": About("agent", ("run the flow", "running the flow", "ran the flow"), subject="name"),
    "find_tools": About("search", ("look for tools:", "looking for tools:", "looked for tools:"), subject="query"),
    "list_mcp_resources": About(
        "search", ("list resources", "listing resources", "listed resources"), subject="server"
    ),
    "read_mcp_resource": About("read", ("call", "calling", "called"), subject="{server}: read {uri}"),
    "mcp_sampling": About("ask", ("answer:", "answering:", "answered:")),
}
