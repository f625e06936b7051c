"""One run for a person to read: passages, card, answer, sources, warnings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from crag_graph.cli.card import decision_card
from crag_graph.cli.facts import cited
from crag_graph.cli.passages import passage_scores, strip_list
from crag_graph.text.clean import clean_text


def print_report(state: Mapping[str, Any], console: Console, *, explain: bool = False) -> None:
    """Write the run to `console`. The answer comes last, where the eye is.

    Args:
        state: The output state as `crag_graph.cli.output.output_of` gives it.
        console: Where to.
        explain: Show every strip, kept and dropped, as well.
    """
    sections = [("passages", passage_scores(state, console))]
    if explain:
        sections.append(("strips", strip_list(state, console)))
    for title, section in sections:
        if section is not None:
            _heading(console, title)
            console.print(section)
            console.print()
    console.print(decision_card(state, width=console.width))
    console.print()
    console.print(Text(clean_text(str(state.get("answer") or ""))))
    _sources(state, console)
    for warning in state.get("warnings") or ():
        console.print(Text(f"! {clean_text(str(warning))}", style="yellow"))


def _sources(state: Mapping[str, Any], console: Console) -> None:
    citations = state.get("citations") or ()
    console.print()
    for citation in citations:
        title, where = cited(citation, base=Path.cwd())
        line = Text()
        line.append(f"[{citation.get('number')}] ", style="cyan")
        line.append(title)
        line.append(f"  {where}", style="dim")
        console.print(line)
    if citations:
        console.print()


def _heading(console: Console, title: str) -> None:
    console.print(Rule(title, align="left", style="dim", characters=_dash(console)))


def _dash(console: Console) -> str:
    return "-" if console.options.ascii_only else "─"
