"""The entry point: runs the command, and turns whatever goes wrong into one sentence."""

import logging
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from crag_graph.cli.entry_codes import INTERRUPTED
from crag_graph.cli.streams import prepare_streams, quiet_pipe, say
from crag_graph.errors import CRAGError
from crag_graph.redaction import redact


def main() -> NoReturn:
    """Run the command with the process's arguments, and exit with its code."""
    prepare_streams()
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Return the exit code of the command with these arguments.

    0 it did what was asked; 1 something failed; 2 bad usage or input; 130 interrupted. Failures are
    one sentence on stderr. With `CRAG_DEBUG` set the traceback is shown as well.
    """
    debug = bool(os.environ.get("CRAG_DEBUG", "").strip())
    if not debug:
        _hush()
    try:
        code = _invoke(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        quiet_pipe()
        return 0  # whoever reads the output has seen enough
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # how rich ends on a closed pipe
            return 0
        raise
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last line of defence of a command
        if debug:
            say(redact(traceback.format_exc()))
        return _report(error)
    if code == INTERRUPTED:
        say("interrupted")
    return code


def _invoke(arguments: Sequence[str]) -> int:
    from crag_graph.cli.app import app

    result: Any = app(args=list(arguments), prog_name="crag", standalone_mode=False)
    return result if isinstance(result, int) else 0


def _report(error: Exception) -> int:
    """Say what went wrong, and return the exit code for it."""
    if isinstance(error, CRAGError):
        say(f"crag: {error.message}")
        return error.exit_code
    # Typer's usage errors come from click or from Typer's own copy of it, by its version.
    format_message = getattr(error, "format_message", None)
    if callable(format_message):
        return _report_usage(error, str(format_message()))
    what = redact(" ".join(str(error).split())) or "no message"
    say(
        f"crag: unexpected {type(error).__name__}: {what.rstrip('.')}; "
        "set CRAG_DEBUG=1 to see where, and report it if it is ours"
    )
    return 1


def _report_usage(error: Exception, message: str) -> int:
    context = getattr(error, "ctx", None)
    command = getattr(context, "command_path", None) or "crag"
    sentence = " ".join(message.split()).rstrip(".")
    say(f"{command}: {sentence[:1].lower()}{sentence[1:]}; see {command} --help")
    return int(getattr(error, "exit_code", 2))


def _hush() -> None:
    """Keep the libraries' own warnings and logs off stderr: the output says what matters."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(logging.NullHandler())
