"""The report of an evaluation as one self-contained page: what the terminal shows, in colour."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from crag_graph.cli.eval_table import print_evaluation
from crag_graph.errors import InputError

if TYPE_CHECKING:
    from crag_graph.evaluation.report import Report

_WIDTH = 110
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>crag eval</title>
<style>
body {{ color: {foreground}; background: {background}; margin: 2rem; }}
pre {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
{stylesheet}
</style>
</head>
<body>
<pre>{code}</pre>
</body>
</html>
"""


def write_evaluation_page(report: "Report", path: Path) -> None:
    """Write the page.

    Raises:
        InputError: The file cannot be written.
    """
    console = Console(
        file=io.StringIO(),
        record=True,
        width=_WIDTH,
        force_terminal=True,
        legacy_windows=False,
        highlight=False,
        emoji=False,
        markup=False,
    )
    print_evaluation(report, console)
    try:
        path.write_text(console.export_html(code_format=_PAGE), encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"--html {path}: cannot be written ({error.strerror})") from error
