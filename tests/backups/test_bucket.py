"""Backups in an S3-compatible store: put there, listed, tried out and restored; what is torn is refused."""

import socket
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import boto3
import pytest
from moto.server import ThreadedMotoServer

from devtools.simulator import ThreadedSimulator

from ..cli.machine import Machine

SECRET = "secret-of-the-bucket-0123456789"
WHERE = "s3://backups/of/this"


@pytest.fixture
def store() -> Generator[ThreadedMotoServer]:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    yield server
    server.stop()


def bucket_at(url: str) -> Any:
    return cast("Any", boto3).client(
        "s3", endpoint_url=url, aws_access_key_id="me", aws_secret_access_key=SECRET, region_name="us-east-1"
    )


def test_backups_are_kept_in_a_bucket_and_what_is_torn_there_is_refused(
    tmp_path: Path, store: ThreadedMotoServer
) -> None:
    host, port = store.get_host_and_port()
    url = f"http://{host}:{port}"
    bucket = bucket_at(url)
    with ThreadedSimulator([{"text": "Hello."}]) as sim:
        machine = Machine(tmp_path, sim)
        settings = tmp_path / ".config" / "openagent" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f'[backup]\nfolder = "{WHERE}"\n[backup.s3]\nendpoint = "{url}"\naccess_key = "me"\n')
        machine.turn("Hi")
        assert "There are no credentials for s3://backups" in machine.run("backup", "list").stderr
        assert machine.run("auth", "add", "s3", "--no-test", given=SECRET).returncode == 0
        assert "NoSuchBucket" in machine.run("backup", "create").stderr
        bucket.create_bucket(Bucket="backups")

        first, second = (machine.json("backup", "create")["backup"] for _ in range(2))
        assert first["path"] == f"{WHERE}/{first['name']}"
        listed = machine.json("backup", "list")
        assert (listed["folder"], {each["name"] for each in listed["backups"]}) == (
            WHERE,
            {first["name"], second["name"]},
        )
        assert not list((machine.home / "backups").glob("*.tar.gz")), "none stays here"
        assert machine.json("backup", "verify", first["name"])["files"] > 0

        key = f"of/this/{second['name']}"
        whole = bucket.get_object(Bucket="backups", Key=key)["Body"].read()
        bucket.put_object(Bucket="backups", Key=key, Body=whole[:-1])
        torn = next(each for each in machine.json("backup", "list")["backups"] if each["name"] == second["name"])
        assert "its upload was cut short" in torn["problem"]
        to = ("--home", str(tmp_path / "other"), "--without-keys")
        env = {"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": SECRET}
        elsewhere = Machine(tmp_path, sim, env)
        assert "is torn or damaged" in machine.run("backup", "verify", second["name"]).stderr
        bucket.put_object(Bucket="backups", Key=key, Body=bytes([whole[0] ^ 1]) + whole[1:])
        assert "is torn or damaged" in elsewhere.run("backup", "restore", second["path"], *to).stderr
        bucket.delete_object(Bucket="backups", Key=f"{key}.json")
        assert "There is no whole backup" in machine.run("backup", "verify", second["name"]).stderr
        assert not (tmp_path / "other" / "openagent.db").exists()

        done = elsewhere.json("backup", "restore", first["path"], *to)
        assert (done["sessions"], (tmp_path / "other" / "openagent.db").is_file()) == (1, True)
        store.stop()
        with socket.socket() as held:
            # Another process that got this port would take the connection, and might never answer.
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held.bind((host, port))
            gone = machine.run("backup", "create").stderr
        assert f"{WHERE} at {url} does not answer" in gone
        machine.run("stop")
        logs = b"".join(file.read_bytes() for file in (machine.home / "logs").rglob("*") if file.is_file())
        assert SECRET.encode() not in logs + gone.encode()
