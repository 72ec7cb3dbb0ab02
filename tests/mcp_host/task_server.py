"""A stdio server that carries calls out as tasks (protocol 2025-11-25): each is as far along as it was asked about."""

import json
import sys
from typing import Any

TOOLS = {"slow": "optional", "choose": "required", "fails": "required", "early": "required", "endless": "required"}
OBJECT: dict[str, Any] = {"type": "object", "properties": {}}
RELATED = "io.modelcontextprotocol/related-task"
NEEDED = 3
"""Questions after which a task is done."""

tasks: dict[str, dict[str, Any]] = {}
waiting: dict[str, Any] = {}
"""Who asked for a task's result before there was one."""
cancelled: list[str] = []


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def content(text: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **more}


def state(name: str) -> dict[str, Any]:
    now = "2026-01-01T00:00:00Z"
    told = {key: value for key, value in tasks[name].items() if key in ("status", "statusMessage")}
    return {"taskId": name, "createdAt": now, "lastUpdatedAt": now, "ttl": None, "pollInterval": 50, **told}


def call(number: Any, params: dict[str, Any]) -> None:
    tool = params["name"]
    if tool == "cancelled":
        send(id=number, result=content(" ".join(cancelled)))
    elif params.get("task") is None:
        send(id=number, error={"code": -32601, "message": "only as a task"})
    else:
        name = f"{tool}-{len(tasks)}"
        tasks[name] = {"tool": tool, "status": "working", "asked": 0}
        send(id=number, result={"task": state(name)})


def get(number: Any, name: str) -> None:
    task = tasks[name]
    task["asked"] += 1
    if task["status"] == "working" and task["tool"] in ("slow", "fails", "early"):
        task["statusMessage"] = f"{task['asked']} of {NEEDED}"
        if task["asked"] >= NEEDED:
            task["status"] = "failed" if task["tool"] == "fails" else "completed"
    send(id=number, result=state(name))
    if task["status"] in ("completed", "failed") and name in waiting:
        result(waiting.pop(name), name)


def result(number: Any, name: str) -> None:
    task = tasks[name]
    if task["status"] == "failed":
        send(id=number, result=content("It broke.", isError=True))
    elif task["status"] == "completed":
        send(
            id=number,
            result={**content(task.get("said", f"{task['tool']} is done")), "_meta": {RELATED: {"taskId": name}}},
        )
    elif task["tool"] == "early":
        send(id=number, error={"code": -32602, "message": "It is not done yet."})
    else:
        waiting[name] = number
        if task["tool"] == "choose" and task["status"] == "working":
            task["status"] = "input_required"
            schema = {"type": "object", "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}}}
            wanted = {"message": "Which?", "requestedSchema": schema, "_meta": {RELATED: {"taskId": name}}}
            send(id=f"ask:{name}", method="elicitation/create", params=wanted)


def answered(name: str, answer: dict[str, Any]) -> None:
    tasks[name] |= {"status": "completed", "said": json.dumps(answer)}
    result(waiting.pop(name), name)


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        number, method = message.get("id"), message.get("method")
        params: dict[str, Any] = message.get("params") or {}
        match method:
            case "initialize":
                can: dict[str, Any] = {"tools": {}, "tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}}
                named = {"name": "tasks", "version": "1"}
                send(id=number, result={"protocolVersion": "2025-11-25", "capabilities": can, "serverInfo": named})
            case "tools/list":
                offered: list[dict[str, Any]] = [
                    {"name": name, "inputSchema": OBJECT, "execution": {"taskSupport": support}}
                    for name, support in TOOLS.items()
                ]
                send(id=number, result={"tools": [*offered, {"name": "cancelled", "inputSchema": OBJECT}]})
            case "tools/call":
                call(number, params)
            case "tasks/get":
                get(number, params["taskId"])
            case "tasks/result":
                result(number, params["taskId"])
            case "tasks/cancel":
                cancelled.append(params["taskId"])
                tasks[params["taskId"]]["status"] = "cancelled"
                send(id=number, result=state(params["taskId"]))
            case None if str(number).startswith("ask:"):
                answered(str(number).removeprefix("ask:"), message["result"])
            case _ if number is not None:
                send(id=number, error={"code": -32601, "message": "no such method"})
            case _:
                pass


if __name__ == "__main__":
    main()
