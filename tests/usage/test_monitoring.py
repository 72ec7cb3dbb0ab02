"""What monitoring systems collect, as they do it: over HTTP, with their own tools."""

import asyncio
import os
import re
import shutil
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families as parsed

from openagent.protocol.events import Metrics
from openagent.protocol.metrics import MetricsExport, MetricsSubscribe

from ..interaction.doing import ask, shell, turn
from ..interaction.house import MODEL, PATIENCE, house, new_session
from ..rest.calling import rest, token_with

pytestmark = pytest.mark.anyio
PROMETHEUS = Path(__file__).parents[2] / "deploy" / "prometheus"
DASHBOARD = PROMETHEUS.with_name("grafana") / "openagent.json"
PROMTOOL = pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
ANSWERS = [
    shell("echo hi"),
    {"text": "done", "usage": {"input": 1_000, "output": 50, "cached": 600}},
    {"fault": "unauthorized"},
]
ACCEPT = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


def values(text: str) -> dict[str, float]:
    found = [sample for family in parsed(text) for sample in family.samples]
    return {
        f"{each.name}{{{','.join(f'{name}={value}' for name, value in sorted(each.labels.items()))}}}": each.value
        for each in found
    }


def names(text: str) -> set[str]:
    return {family.name for family in openmetrics.text_string_to_metric_families(text)}  # pyright: ignore[reportUnknownMemberType]


def used_in(file: Path) -> set[str]:
    """Names of what is counted that a dashboard or an alert asks for."""
    found = re.findall(r"\bopenagent_[a-z_]+", file.read_text())
    return {re.sub("_(total|bucket)$", "", each) for each in found}


async def promtool(*arguments: str, said: str = "") -> tuple[int | None, str]:
    running = await asyncio.create_subprocess_exec(
        "promtool",
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    told, _ = await running.communicate(said.encode())
    return running.returncode, told.decode()


async def test_turns_are_found_in_what_prometheus_collects(tmp_path: Path) -> None:
    async with house(tmp_path, ANSWERS, web=True) as h, rest(h) as owner, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await turn(client, attachment)
        failed, _ = await turn(client, attachment)
        assert failed.reason == "error"
        answer = await owner("GET", "/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        found = values(answer.text)
        provider, cause = MODEL.split("/")[0], "auth_failed"
        assert found["openagent_sessions{}"] == 1
        assert found["openagent_turns_total{end=done}"] == found["openagent_turns_total{end=error}"] == 1
        assert found[f"openagent_turn_errors_total{{cause={cause}}}"] == 1
        assert found["openagent_steps_total{}"] == 2
        assert found["openagent_tool_calls_total{end=done,tool=shell}"] == 1
        assert found["openagent_tool_duration_seconds_count{tool=shell}"] == 1
        assert found[f"openagent_tokens_total{{kind=cache_read,model={MODEL}}}"] == 600
        assert 0 < found["openagent_cache_hit_ratio{}"] < 1
        assert found[f"openagent_provider_errors_total{{cause=authentication_failed,provider={provider}}}"] == 1
        assert found[f"openagent_provider_first_token_seconds_count{{model=scripted,provider={provider}}}"] == 2
        assert found["openagent_event_lag_seconds_count{}"] > 5
        assert found["openagent_queued_messages{}"] == 0
        assert found[f"openagent_session_turns{{session={session},template=}}"] == 2
        assert found[f"openagent_jail_processes{{session={session}}}"] >= 1
        assert found[f"openagent_jail_memory_bytes{{session={session}}}"] > 0

        newer = await owner("GET", "/metrics", Accept=ACCEPT)
        assert newer.headers["content-type"].startswith("application/openmetrics-text")
        assert names(newer.text) > {"openagent_turns", "openagent_cost_usd"}
        (measured,) = (await owner("GET", "/api/metrics/agents")).json()["agents"]
        assert measured["jail"]["processes"] >= 1
        text = (await ask(client, MetricsExport, format="influx")).text
        assert "openagent_turns,end=done value=1.0 " in text
        assert {*used_in(PROMETHEUS / "openagent.rules.yml"), *used_in(DASHBOARD)} <= names(newer.text)
        if shutil.which("promtool"):
            assert await promtool("check", "metrics", said=answer.text) == (0, "")


async def test_charts_are_fed_live_with_how_an_agent_does(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client, client.all_events() as heard:
        session = await new_session(h, client)
        await ask(client, MetricsSubscribe, agents=[session], every=0.5)
        await turn(client, await client.attach(session))
        async with asyncio.timeout(PATIENCE):
            while not (isinstance(event := await heard.get(), Metrics) and event.agents[0].turns == 1):
                pass
        assert (event.sessions, [each.id for each in event.agents]) == (1, [session])


async def test_the_counts_are_for_whoever_may_see_all(tmp_path: Path) -> None:
    async with house(tmp_path, [], web=True) as h, rest(h, "") as nobody:
        assert (await nobody("GET", "/metrics")).status_code == 401
        async with rest(h, await token_with(h, "read")) as of_one_folder:
            assert (await of_one_folder("GET", "/metrics")).status_code == 403


@PROMTOOL
async def test_promtool_has_nothing_to_say_about_the_alerts() -> None:
    returned, told = await promtool("check", "rules", str(PROMETHEUS / "openagent.rules.yml"))
    assert (returned, "SUCCESS" in told, "FAILED" in told) == (0, True, False), told
    returned, told = await promtool("check", "config", "--syntax-only", str(PROMETHEUS / "prometheus.yml"))
    assert returned == 0, told


@pytest.mark.skipif(not shutil.which("influxd"), reason="influxd is not installed")
async def test_a_real_influxdb_takes_what_is_sent_to_it(tmp_path: Path) -> None:
    async with influxdb(tmp_path) as there, httpx2.AsyncClient(base_url=there, timeout=60) as database:
        config = f'[telemetry]\ninflux = "{there}/write?db=agents"\nevery = 0.05\n'
        async with house(tmp_path, [{"text": "done"}], config=config) as h, await h.client() as client:
            await turn(client, await client.attach(await new_session(h, client)))
            asked = {"db": "agents", "q": "SELECT last(value) FROM openagent_turns WHERE \"end\" = 'done'"}
            async with asyncio.timeout(PATIENCE):
                while "series" not in (answer := (await database.get("/query", params=asked)).json())["results"][0]:
                    pass
            assert answer["results"][0]["series"][0]["values"][0][1] == 1
        told = (await database.get("/query", params={"db": "agents", "q": "SHOW FIELD KEYS"})).json()
        fields = {each["name"]: [key for key, _ in each["values"]] for each in told["results"][0]["series"]}
        assert {"count", "sum", "le_+Inf", "le_0.5"} <= set(fields["openagent_turn_duration_seconds"])


@asynccontextmanager
async def influxdb(tmp_path: Path) -> AsyncGenerator[str]:
    """With an empty database `agents`."""
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        ports = [each.getsockname()[1] for each in (one, other)]
    where = tmp_path / "influx"
    settings = {
        "INFLUXDB_META_DIR": str(where / "meta"),
        "INFLUXDB_DATA_DIR": str(where / "data"),
        "INFLUXDB_DATA_WAL_DIR": str(where / "wal"),
        "INFLUXDB_HTTP_BIND_ADDRESS": f"127.0.0.1:{ports[0]}",
        "INFLUXDB_BIND_ADDRESS": f"127.0.0.1:{ports[1]}",
        "INFLUXDB_REPORTING_DISABLED": "true",
        "INFLUXDB_MONITOR_STORE_ENABLED": "false",
    }
    nothing = asyncio.subprocess.DEVNULL
    server = await asyncio.create_subprocess_exec(
        "influxd", "-config", "/dev/null", env={**os.environ, **settings}, stdout=nothing, stderr=nothing
    )
    address = f"http://127.0.0.1:{ports[0]}"
    try:
        async with httpx2.AsyncClient(timeout=60) as client, asyncio.timeout(PATIENCE):
            while True:
                try:
                    await client.post(f"{address}/query", params={"q": "CREATE DATABASE agents"})
                    break
                except httpx2.ConnectError:
                    assert server.returncode is None
        yield address
    finally:
        server.terminate()
        await server.wait()
