"""The README, the handbook and the examples say what the code does."""

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from crag_graph.cli.app import app
from crag_graph.environment import Environment
from crag_graph.settings import PROFILES, Settings
from crag_graph.state import CRAGInput
from tests.fakes.folders import shared_folder

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
HANDBOOK = sorted((ROOT / "docs/handbook").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / ".env.example", *HANDBOOK]
COMMANDS = {command.callback.__name__ for command in app.registered_commands if command.callback}


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs/generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["mermaid", "settings", "profiles"])
def test_generated_parts_are_current(name: str):
    made = generator()
    parts = [
        part[3]
        for page in made.PAGES
        for part in made._PART.finditer(page.read_text(encoding="utf-8"))
        if part[2] == name
    ]
    assert parts, f"no page holds the part {name}"
    for part in parts:
        assert part == made.PARTS[name](), "run `python docs/generate.py`"


def test_the_table_tells_every_setting_with_its_bounds_and_default():
    table = generator().settings()
    for name in Settings.model_fields:
        assert f"| `{name}` |" in table
    assert "| `top_k` | `5` | 1–100 |" in table
    assert "| `web_seconds` | `15.0` | above 0 to 300 |" in table
    assert (
        "| `outage_policy` | `ambiguous` | `ambiguous`, `irrelevant`, `raise`, `local` |" in table
    )
    assert "| `prefer_recent` | unset | `on`, `off` |" in table


_OWNERS = "CRAG|OPENAI|QDRANT|TAVILY|BRAVE|EXA|SEARXNG|WIKIPEDIA|DUCKDUCKGO"
# The older name of OPENAI_BASE_URL, which is still read.
_UNTOLD = {"OPENAI_API_BASE"}


def variables_in(text: str) -> set[str]:
    return set(re.findall(rf"\b(?:{_OWNERS})_[A-Z_]*[A-Z]\b", text))


def test_variables_are_those_that_the_code_reads():
    code = "".join(path.read_text("utf-8") for path in (ROOT / "crag_graph").rglob("*.py"))
    for page in PAGES:
        unknown = variables_in(page.read_text(encoding="utf-8")) - variables_in(code)
        assert not unknown, f"{page.name} names variables that nothing reads"


def test_every_variable_that_the_code_reads_is_told():
    read = {
        name
        for path in (ROOT / "crag_graph").rglob("*.py")
        for text in re.findall(r"\"[A-Z_]+\"", path.read_text(encoding="utf-8"))
        for name in variables_in(text)
    } | variables_in(Environment.__doc__ or "")
    assert len(read) > 25
    assert read - _UNTOLD <= variables_in(README)
    in_shell_only = {"CRAG_DEBUG"}
    example = variables_in((ROOT / ".env.example").read_text(encoding="utf-8"))
    assert read - _UNTOLD - in_shell_only <= example


def test_nothing_is_set_by_the_example_file():
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == []


def test_the_two_commands_are_what_continuous_integration_runs():
    run = (ROOT / ".ci/run").read_text(encoding="utf-8")
    commands = [line for line in "".join(blocks(README, "bash")).splitlines() if "-m venv" in line]
    assert len(commands) == 2
    for command in commands:
        assert command in run


def test_every_command_line_of_the_readme_exists():
    lines = [line for block in blocks(README, "bash") for line in block.splitlines()]
    used = [shlex.split(line, comments=True) for line in lines if line.startswith("crag ")]
    assert len(used) >= 4
    for _, command, *rest in used:
        assert command in COMMANDS
        shown = subprocess.run(
            [sys.executable, "-c", "from crag_graph.cli import main; main()", command, "--help"],
            capture_output=True,
            check=True,
            text=True,
            env={"COLUMNS": "200", "PATH": ""},
        ).stdout
        for option in (part for part in rest if part.startswith("--")):
            assert option in shown


@pytest.mark.parametrize("page", HANDBOOK, ids=lambda page: page.stem)
def test_the_handbook_names_things_that_exist(page: Path):
    text = page.read_text(encoding="utf-8")
    for command in re.findall(r"`crag (\w+)", text):
        assert command in COMMANDS
    for name in re.findall(r"[Ss]ettings? `(\w+)`", text):
        assert name in Settings.model_fields
    for name in re.findall(r"--set\s+(\w+)=", text):
        assert name in Settings.model_fields
    for name in re.findall(r"--profile (\w+)", text):
        assert name in PROFILES


@pytest.mark.parametrize("page", HANDBOOK, ids=lambda page: page.stem)
def test_chapters_begin_with_their_one_title(page: Path):
    lines = page.read_text(encoding="utf-8").splitlines()
    fences = [number for number, line in enumerate(lines) if line.startswith("```")]
    assert len(fences) % 2 == 0
    titles = [line for line in lines if re.match(r"# \S", line)]
    assert titles[0] == lines[0]


def test_defaults_that_the_handbook_quotes_are_the_defaults():
    text = " ".join("\n".join(page.read_text(encoding="utf-8") for page in HANDBOOK).split())
    quoted = re.findall(r"`(\w+)` \(default ([\d.]+)\)", text)
    assert len(quoted) >= 6
    for name, value in quoted:
        assert float(value) == Settings.model_fields[name].default, name


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder in which the handbook is the default collection."""
    with shared_folder(tmp_path_factory, "home") as home:
        subprocess.run(
            [*CRAG, "ingest", str(ROOT / "docs/handbook")], check=True, env=bare_environment(home)
        )
        yield home


CRAG = (sys.executable, "-W", "error", "-c", "from crag_graph.cli import main; main()")


def bare_environment(home: Path) -> dict[str, str]:
    """Nothing is configured but the data folder."""
    return {"PATH": "", "HOME": str(home), "CRAG_HOME": str(home), "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize("block", blocks(README, "python"), ids=lambda block: f"{hash(block):x}")
def test_every_snippet_of_the_readme_runs(home: Path, block: str):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block],
        capture_output=True,
        check=False,
        text=True,
        env=bare_environment(home),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_request_of_the_readme_is_one_that_the_graph_takes():
    (request,) = re.findall(r"-d '(\{.*?\})'", README)
    body = json.loads(request)
    assert body["assistant_id"] in json.loads((ROOT / "langgraph.json").read_text())["graphs"]
    assert set(body["input"]) <= set(CRAGInput.__annotations__)
    Settings.of(body["context"])


EXAMPLES = {
    "ask_from_python.py": "The inlet valve closes first.",
    "as_subgraph.py": "9:15",
    "as_tool.py": "five days",
}


@pytest.mark.parametrize(("name", "said"), EXAMPLES.items())
def test_the_examples_answer_from_their_notes(tmp_path: Path, name: str, said: str):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / name)],
        capture_output=True,
        check=False,
        text=True,
        env=bare_environment(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
