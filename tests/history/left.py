"""What six agents leave in a home: as they wrote it, with a scripted model; an older goose's as its sources say."""

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "recorded"
GOOSE = """
CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '',
    user_set_name BOOLEAN DEFAULT FALSE, session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    extension_data TEXT DEFAULT '{}', total_tokens INTEGER, input_tokens INTEGER, output_tokens INTEGER,
    accumulated_total_tokens INTEGER, accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER,
    schedule_id TEXT, recipe_json TEXT, user_recipe_values_json TEXT, provider_name TEXT, model_config_json TEXT,
    goose_mode TEXT NOT NULL DEFAULT 'auto'
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL REFERENCES sessions(id),
    role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL,
    timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER, metadata_json TEXT
);
INSERT INTO schema_version (version) VALUES (9);
"""


def lay(home: Path) -> None:
    """All of it."""
    for agent in ("claude", "codex", "gemini"):
        shutil.copytree(RECORDED / agent, home, dirs_exist_ok=True)
    (home / "project").mkdir(exist_ok=True)
    shutil.copytree(RECORDED / "aider" / "project", home / "project", dirs_exist_ok=True)
    lay_opencode(home)
    lay_goose(home)


def lay_opencode(home: Path) -> Path:
    return lay_database(home, "opencode", ".local/share/opencode/opencode")


def lay_newer_goose(home: Path) -> Path:
    """As goose 1.50 wrote it: one session with GPT, one with Claude, and what that one gave away."""
    return lay_database(home, "goose", ".local/share/goose/sessions/sessions")


def lay_database(home: Path, agent: str, path: str) -> Path:
    recorded = RECORDED / agent / path
    place = home / f"{path}.db"
    place.parent.mkdir(parents=True)
    database = sqlite3.connect(place)
    database.executescript(recorded.with_suffix(".schema.sql").read_text())
    tables: dict[str, list[dict[str, Any]]] = json.loads(recorded.with_suffix(".rows.json").read_text())
    for table, rows in tables.items():
        for row in rows:
            columns = ", ".join(f'"{name}"' for name in row)
            marks = ", ".join("?" * len(row))
            database.execute(f'INSERT INTO "{table}" ({columns}) VALUES ({marks})', list(row.values()))
    database.commit()
    database.close()
    return place


def lay_goose(home: Path) -> Path:
    place = home / ".local" / "share" / "goose" / "sessions"
    place.mkdir(parents=True)
    database = sqlite3.connect(place / "sessions.db")
    database.executescript(GOOSE)
    about = ("20261115_1", "Count the lines", "/home/user/project", "2026-11-15 21:40:00", "2026-11-15 21:41:00")
    used = (9_000, 8_900, 100, 31_000, 30_000, 1_000, "anthropic", json.dumps({"model_name": "claude-sonnet-4-5"}))
    database.execute(
        "INSERT INTO sessions (id, name, working_dir, created_at, updated_at, total_tokens, input_tokens, "
        "output_tokens, accumulated_total_tokens, accumulated_input_tokens, accumulated_output_tokens, provider_name, "
        "model_config_json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*about, *used),
    )
    called = {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "wc -l notes.txt"}}}
    told = {"status": "success", "value": {"content": [{"type": "text", "text": "2 notes.txt"}], "isError": False}}
    said: list[tuple[str, list[dict[str, Any]]]] = [
        ("user", [{"type": "text", "text": "How many lines has notes.txt?"}]),
        ("assistant", [{"type": "toolRequest", "id": "call_1", "toolCall": called}]),
        ("user", [{"type": "toolResponse", "id": "call_1", "toolResult": told}]),
        ("assistant", [{"type": "text", "text": "It has two lines, says goose."}]),
    ]
    for number, (role, content) in enumerate(said):
        database.execute(
            "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp) "
            "VALUES (?, ?, ?, ?, ?)",
            (f"msg_{number}", "20261115_1", role, json.dumps(content), 1_794_778_800 + number),
        )
    database.commit()
    database.close()
    return place / "sessions.db"
