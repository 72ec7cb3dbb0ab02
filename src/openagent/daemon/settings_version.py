"""Telling one state of a session's settings from another."""

import hashlib

import msgspec

from openagent.protocol.sessions import Settings


def settings_version(settings: Settings) -> str:
    return hashlib.sha256(msgspec.json.encode(settings)).hexdigest()[:32]
