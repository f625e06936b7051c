"""What `langgraph build` and the compose file would deploy."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
CONFIG: Any = json.loads((ROOT / "langgraph.json").read_text())
COMPOSE: Any = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())


def langgraph(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "langgraph_cli", *arguments],
        cwd=ROOT,
        env=os.environ | {"LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGGRAPH_NO_VERSION_CHECK": "true"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_configuration_is_valid():
    done = langgraph("validate", "--config", "langgraph.json")
    assert done.returncode == 0, done.stderr
    assert "3 graphs" in done.stdout


def test_the_dockerfile_carries_the_graphs_whole(tmp_path):
    """The command line puts descriptions between single quotes and does not escape theirs."""
    done = langgraph("dockerfile", "--config", "langgraph.json", str(tmp_path / "Dockerfile"))
    assert done.returncode == 0, done.stderr
    dockerfile = (tmp_path / "Dockerfile").read_text()
    (quoted,) = re.findall(r"^ENV LANGSERVE_GRAPHS='([^']*)'$", dockerfile, re.M)
    assert json.loads(quoted) == CONFIG["graphs"]
    assert "ADD . /deps/" in dockerfile


def test_every_graph_tells_an_agent_what_it_is_for():
    for name, graph in CONFIG["graphs"].items():
        assert 150 < len(graph["description"]) < 900, name
        module, _, attribute = graph["path"].partition(":")
        assert attribute == "graph"
        assert (ROOT / module.replace(".", "/")).with_suffix(".py").is_file()


def test_the_compose_file_has_the_four_services_and_no_secret():
    services = COMPOSE["services"]
    assert set(services) == {"server", "qdrant", "postgres", "redis"}
    server = services["server"]
    assert server["healthcheck"]["test"][-1].endswith("/health')")
    assert server["environment"]["QDRANT_URL"] == "http://qdrant:6333"
    for name, value in server["environment"].items():
        if re.search(r"KEY|PASSWORD|SECRET", name):
            assert value.startswith("${"), name
    assert all(port.startswith("127.0.0.1:") for port in server["ports"])
    for service in services.values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in COMPOSE["volumes"] or source.startswith("${DOCUMENTS")


def test_the_compose_file_names_only_variables_that_exist():
    known = "\n".join(path.read_text() for path in (ROOT / "crag_graph").rglob("*.py"))
    for name in COMPOSE["services"]["server"]["environment"]:
        if name.startswith(("CRAG_", "QDRANT_", "OPENAI_", "TAVILY_")):
            assert name in known, name
