"""The deployment to begin with: nobody here can start it, so at least it says what it means."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

DEPLOY = Path(__file__).parents[1] / "deploy"


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


def test_it_is_made_of_what_the_pages_say(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {
        "qdrant-1", "qdrant-2", "qdrant-3", "postgres", "scheduler", "worker", "server-1",
        "server-2", "proxy",
    }  # fmt: skip
    readme = (DEPLOY / "README.md").read_text()
    for name in ("postgres", "scheduler", "worker", "server-1", "proxy"):
        assert f"`{name}`" in readme, name
    assert "no container of it was ever started" in readme


def test_only_the_proxy_can_be_reached(compose: dict[str, Any]) -> None:
    """A Dask scheduler runs what it is sent: nothing but TLS with a key may listen outside."""
    assert compose["networks"]["inside"]["internal"] is True
    for name, service in compose["services"].items():
        outside = name == "proxy"
        assert ("ports" in service) == outside, name
        assert set(service["networks"]) == {"inside", *(["outside"] if outside else [])}, name
        assert service.get("privileged") is None, name
        assert service.get("network_mode") is None, name


def test_what_is_used_is_declared(compose: dict[str, Any]) -> None:
    used: dict[str, set[str]] = {"volumes": set(), "secrets": set(), "networks": set()}
    for service in compose["services"].values():
        used["secrets"] |= set(service.get("secrets", ()))
        used["networks"] |= set(service["networks"])
        for volume in service.get("volumes", ()):
            source = re.sub(r"\$\{.*?\}", "/given", volume).split(":")[0]
            if not source.startswith(("/", ".")):
                used["volumes"].add(source)
            elif source.startswith("."):
                assert (DEPLOY / source).exists(), source
        for other in service.get("depends_on", ()):
            assert other in compose["services"], other
        build = service.get("build")
        assert build is None or (DEPLOY / build["context"] / build["dockerfile"]).is_file()
    for kind, names in used.items():
        assert names == set(compose[kind]), kind


def test_no_secret_stands_in_it(compose: dict[str, Any]) -> None:
    text = (DEPLOY / "compose.yaml").read_text() + (DEPLOY / "Dockerfile").read_text()
    for name in re.findall(r"\$\{(\w+)", text):
        assert name in (DEPLOY / "README.md").read_text(), f"{name} is not explained"
    for service in compose["services"].values():
        for key, value in service.get("environment", {}).items():
            if re.search("PASSWORD|KEY", key):
                assert value.startswith(("/run/secrets/", "${")), key
    # Workers see pictures, the scheduler sees nothing.
    assert compose["services"]["scheduler"]["volumes"] == []
    assert compose["services"]["worker"]["secrets"] == []


def test_servers_and_workers_are_of_one_image(compose: dict[str, Any]) -> None:
    """Rows must be the same bits wherever they are made."""
    ours = [one for one in compose["services"].values() if "build" in one]
    assert len(ours) == 4
    assert len({(one["image"], one["build"]["dockerfile"]) for one in ours}) == 1
    docker = (DEPLOY / "Dockerfile").read_text()
    assert "--constraint requirements.lock" in docker
    assert re.search(r"^USER likewise$", docker, re.MULTILINE)
    for source in re.findall(r"^COPY (?!--from)(.*) \S+$", docker, re.MULTILINE):
        for name in source.split():
            assert (DEPLOY.parent / name).exists(), name
