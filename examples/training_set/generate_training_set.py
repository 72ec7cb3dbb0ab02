"""Makes a training set from a program in COBOL: for every paragraph a change that somebody could ask for, and the
paragraph after it, with a modification log.

    python generate_training_set.py --source sample_cobol.cbl --out training_data.jsonl --mode full-stream

`full-stream` goes through the paragraphs in one session, so that later changes know of earlier ones; `paragraphs` has a
session for each. Answers that are no JSON, change nothing or lose the paragraph's name are asked for once more and then
left out. Lines have the form that fine-tuning takes: `messages`, and beside them `modlog`, the changed lines as a
program finds them, not as the model tells.
"""

import argparse
import asyncio
import difflib
import json
import re
import sys
from pathlib import Path
from typing import Any

from openagent.client import Client, connect

PARAGRAPH = re.compile(r"^ {7}([A-Z0-9][A-Z0-9-]*)\.[ \t]*$", re.MULTILINE)
ASKED = """\
Here is the paragraph {name} of a COBOL program. Invent one small, realistic change request for it, and carry it out.
Answer with nothing but JSON: {{"request": "what somebody asks for", "code": "the whole paragraph afterwards"}}

{code}"""
AGAIN = "That was not it: {problem}. Answer with nothing but that JSON."


def paragraphs(source: str) -> list[tuple[str, str]]:
    """Of the procedure division, each with its name."""
    _, _, procedure = source.partition("PROCEDURE DIVISION.")
    found = list(PARAGRAPH.finditer(procedure))
    ends = [each.start() for each in found[1:]] + [len(procedure)]
    return [(each[1], procedure[each.start() : end].rstrip()) for each, end in zip(found, ends, strict=True)]


def record(name: str, code: str, answer: str) -> dict[str, Any]:
    """Raises ValueError with what is wrong with the answer."""
    try:
        said = json.loads(re.sub(r"^```\w*\n|\n```$", "", answer.strip()))
        request, changed = str(said["request"]), str(said["code"]).rstrip()
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError("it was not JSON with request and code") from None
    if changed == code:
        raise ValueError("the code is as it was")
    begins = PARAGRAPH.match(changed)
    if begins is None or begins[1] != name:
        raise ValueError(f"the code does not begin with {name}.")
    modlog = [line for line in difflib.ndiff(code.splitlines(), changed.splitlines()) if line[0] in "+-"]
    asked = f"{request}\n\n{code}"
    return {
        "paragraph": name,
        "messages": [{"role": "user", "content": asked}, {"role": "assistant", "content": changed}],
        "modlog": modlog,
    }


async def answered(client: Client, session: str, text: str) -> str:
    attachment = await client.attach(session, messages=0)
    try:
        await client.send(session, text)
        ended, _ = await attachment.until_turn_ends()
    finally:
        await attachment.detach()
    return ended.text


async def generate(found: list[tuple[str, str]], folder: Path, out: Path, *, mode: str, model: str) -> None:
    settings: dict[str, Any] = {"tools": [], "mcp_servers": [], **({"model": model} if model else {})}
    made = 0
    async with await connect(name="training-set") as client:
        session = ""
        with out.open("w") as file:
            for name, code in found:
                if mode == "paragraphs" or not session:
                    session = (await client.create_session(str(folder), name=f"training set {name}", **settings)).id
                text = ASKED.format(name=name, code=code)
                for _ in range(2):
                    try:
                        row = record(name, code, await answered(client, session, text))
                    except ValueError as problem:
                        text = AGAIN.format(problem=problem)
                        continue
                    file.write(json.dumps(row) + "\n")
                    made += 1
                    break
                else:
                    sys.stderr.write(f"{name}: left out\n")
    sys.stdout.write(f"{made} examples in {out}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=lambda text: Path(text).resolve(), required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--mode", choices=["full-stream", "paragraphs"], default="full-stream")
    parser.add_argument("--model", default="", help="provider/model; the configured one when it is not given")
    given = parser.parse_args()
    found = paragraphs(given.source.read_text())
    asyncio.run(generate(found, given.source.parent, given.out, mode=given.mode, model=given.model))
