"""The entry point: usage, exit codes, streams; in this process and as it is installed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from crag_graph.cli import entry
from crag_graph.cli.streams import prepare_streams, say, write_json

CRAG = Path(sys.executable).parent / ("crag.exe" if os.name == "nt" else "crag")


def crag(*arguments: str, home: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run the installed command, in a world in which nothing is configured."""
    return subprocess.run(
        [CRAG, *arguments],
        capture_output=True,
        check=False,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "CRAG_HOME": str(home / "data"),
            "PYTHONWARNINGS": "error",
            **environment,
        },
    )


@pytest.mark.case(60)
def test_help_version_and_graph_need_no_key(tmp_path: Path):
    for arguments in ([], ["--help"], ["ask", "-h"], ["--version"], ["graph"]):
        done = crag(*arguments, home=tmp_path)
        assert (done.returncode, done.stderr) == (0, b""), arguments
        assert done.stdout.strip()
    assert not (tmp_path / "data").exists()


def test_every_command_of_the_design_is_there(capsys):
    assert entry.run(["--help"]) == 0
    out = capsys.readouterr().out
    for command in ("demo", "ingest", "ask", "status", "doctor", "graph"):
        assert f"│ {command} " in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["frobnicate"], "crag: no such command 'frobnicate'; see crag --help"),
        (["ask"], "crag ask: missing argument 'QUESTION'; see crag ask --help"),
        (["ask", "q", "--bogus"], "crag ask: no such option"),
        (["ask", "q", "extra"], "crag ask: got unexpected extra argument"),
        (["ask", "q", "--set"], "crag: option '--set' requires an argument"),
        (["ask", "q", "--set", "topk"], "crag: --set 'topk': write KEY=VALUE"),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_code_2(capsys, arguments, said):
    assert entry.run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(said)
    assert err.count("\n") == 1


def test_an_interrupt_ends_with_130_and_no_trace(capsys, monkeypatch):
    def interrupted(arguments: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(entry, "_invoke", interrupted)
    assert entry.run(["graph"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.case(130)
def test_a_closed_pipe_leaves_no_trace(tmp_path: Path):
    script = f"{CRAG} graph | head -1; {CRAG} --help | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"},
    )
    assert done.stderr == b""
    assert done.returncode == 0


@pytest.mark.case(130)
def test_json_is_utf8_whatever_the_console_speaks(tmp_path: Path):
    code = (
        "from crag_graph.cli.streams import *; prepare_streams();"
        "write_json({'a': '→ 京 🙂'}); print('→ 京 é'); say('→ 京 é')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        env={"PATH": os.environ["PATH"], "PYTHONIOENCODING": "cp1252"},
    )
    first, second = done.stdout.splitlines()
    assert json.loads(first.decode("utf-8")) == {"a": "→ 京 🙂"}
    assert second.decode("cp1252") == "? ? é"
    assert done.stderr.decode("cp1252").strip() == "? ? é"


def test_what_is_said_is_one_clean_line(capsys):
    prepare_streams()
    say("a\x1b[31mb\ud83d")
    assert capsys.readouterr().err == "ab\ufffd\n"


def test_json_refuses_what_is_not_json():
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json({"score": float("nan")})
