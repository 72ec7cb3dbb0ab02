"""What deploy/ holds is what a cluster takes, and fits what the program knows."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import kubernetes_validate  # pyright: ignore[reportMissingTypeStubs]
import pytest
import yaml

from openagent import __version__
from openagent.config.load import load

DEPLOY = Path(__file__).parents[2] / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
OURS_ALONE = ("kustomize.config.k8s.io", "keda.sh")
"""Of these there is no schema here."""


def documents(*, of_kustomize: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    for file in sorted(KUBERNETES.rglob("*.yaml")):
        for document in yaml.safe_load_all(file.read_text()):
            if document["apiVersion"].startswith(OURS_ALONE) == of_kustomize:
                yield str(file.relative_to(DEPLOY)), document


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [document for _, document in documents() if document["kind"] == kind]


@pytest.mark.parametrize(("file", "document"), list(documents()))
def test_every_manifest_is_one_that_a_cluster_takes(file: str, document: dict[str, Any]) -> None:
    kubernetes_validate.validate(document, "1.31", strict=True)


def test_every_file_is_listed_and_what_is_named_is_there() -> None:
    for file in sorted(KUBERNETES.rglob("kustomization.yaml")):
        listed = set(yaml.safe_load(file.read_text())["resources"])
        beside = {each.name for each in file.parent.glob("*.yaml")} - {"kustomization.yaml"}
        assert {each for each in listed if not each.startswith("../")} == beside, file
    named = {document["metadata"]["name"] for document in of_kind("Secret")}
    for deployment in of_kind("Deployment"):
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        assert {each["secretRef"]["name"] for each in container["envFrom"]} <= named


def test_pods_are_nobodys_root_and_are_asked_how_they_are() -> None:
    for deployment in of_kind("Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["automountServiceAccountToken"] is False
        (container,) = pod["containers"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert {"startupProbe", "readinessProbe", "livenessProbe"} <= set(container)
    component = [each["spec"]["selector"]["matchLabels"] for each in of_kind("PodDisruptionBudget")]
    assert component == [each["spec"]["selector"]["matchLabels"] for each in of_kind("Deployment")]


@pytest.mark.parametrize("file", ["kubernetes/base/config.toml", "compose/config.toml"])
def test_the_settings_are_ones_that_there_are_and_turns_may_end_before_a_worker_is_killed(
    file: str, tmp_path: Path
) -> None:
    load(
        cwd=tmp_path, env={"OPENAGENT_CONFIG": str(DEPLOY / file), "HOME": str(tmp_path)}
    )  # raises for what it does not know
    drain = tomllib.loads((DEPLOY / file).read_text())["team"]["drain"]
    (worker,) = [each for each in of_kind("Deployment") if each["metadata"]["name"] == "worker"]
    assert worker["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > drain
    compose = cast("dict[str, Any]", yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text()))
    assert int(compose["services"]["worker"]["stop_grace_period"].rstrip("s")) > drain


def test_the_version_is_the_one_that_is_built() -> None:
    for file in ("compose/compose.yaml", "kubernetes/base/kustomization.yaml", "kubernetes/example/kustomization.yaml"):
        found = re.findall(r"(?:newTag: |openagent:)(\d+\.\d+\.\d+)", (DEPLOY / file).read_text())
        assert found == [__version__], file


def test_the_filter_of_workers_is_there_and_leaves_the_jail_what_it_needs() -> None:
    compose = cast("dict[str, Any]", yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text()))
    (named,) = [each for each in compose["services"]["worker"]["security_opt"] if each.startswith("seccomp=")]
    profile = json.loads((DEPLOY / "compose" / named.partition("=")[2]).read_text())
    assert profile["defaultAction"] == "SCMP_ACT_ALLOW"
    refused = {name for rule in profile["syscalls"] for name in rule["names"] if "args" not in rule}
    assert not refused & {"clone", "clone3", "mount", "pivot_root", "sethostname", "umount2", "unshare"}
    assert {"bpf", "io_uring_setup", "keyctl", "kexec_load", "open_by_handle_at", "setns", "userfaultfd"} <= refused
    (worker,) = [each for each in of_kind("Deployment") if each["metadata"]["name"] == "worker"]
    pod = worker["spec"]["template"]["spec"]
    # Kubernetes refuses the second without the first.
    assert pod["hostUsers"] is False
    assert pod["containers"][0]["securityContext"]["procMount"] == "Unmasked"
