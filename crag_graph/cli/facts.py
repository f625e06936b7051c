"""The sentences that the terminal and the page share: meanings, thresholds, calls, sources."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from crag_graph.text.clean import clean_text, shorten
from crag_graph.wording import counted

_CORPUS = {
    "correct": "The corpus holds up",
    "ambiguous": "The corpus holds up in part",
    "incorrect": "The corpus does not hold the answer",
}
_WEB = {
    "correct": ": the answer comes from it alone.",
    "ambiguous": ": the web is asked beside it.",
    "incorrect": ": the web is asked instead.",
}
_NO_WEB = {
    "ambiguous": ". The web would be asked beside it, but web search is off.",
    "incorrect": ". The web would be asked instead, but web search is off.",
}


def meaning(state: Mapping[str, Any]) -> str:
    """Return what the action of a run means, in one or two sentences; empty without an action."""
    action = str(state.get("action") or "")
    decision = state.get("decision") or {}
    if action not in _CORPUS:
        return ""
    corpus = {
        "failed": "No passage could be graded, so the outage policy decides",
        "empty": "There is no passage to answer from",
    }.get(str(decision.get("grading")), _CORPUS[action])
    web = (decision.get("stages") or {}).get("web_search") or {}
    is_off = web.get("decided") == "off"
    return corpus + (_NO_WEB.get(action, ".") if is_off else _WEB[action])


def threshold_note(decision: Mapping[str, Any]) -> str:
    """Return the thresholds, the margin, and where the numbers come from, in one line."""
    parts = [f"lower {_number(decision.get('lower'))}, upper {_number(decision.get('upper'))}"]
    if decision.get("margin") is not None:
        parts.append(f"margin {_number(decision['margin'])}")
    profile = f"profile {decision.get('profile', '?')}"
    if decision.get("provenance"):
        profile += f" ({decision['provenance']})"
    return clean_text(" · ".join([*parts, profile]))


def calls(usage: Mapping[str, Any]) -> str:
    """Return what the run spent, in one line."""
    counts = [
        counted(usage.get("llm_calls", 0), "LLM call"),
        counted(usage.get("evaluator_calls", 0), "evaluator pass", "evaluator passes"),
        counted(usage.get("generation_calls", 0), "generation"),
        counted(usage.get("web_searches", 0), "web search", "web searches"),
    ]
    tokens = usage.get("input_tokens", 0), usage.get("output_tokens", 0)
    if any(tokens):
        counts.append(f"{tokens[0]:,} tokens in, {tokens[1]:,} out")
    if usage.get("cache_hits"):
        counts.append(counted(usage["cache_hits"], "cache hit"))
    counts.append(f"{usage.get('seconds', 0.0):.2f} s in the nodes")
    return " · ".join(counts)


def label_of(document: Mapping[str, Any], *, limit: int = 200) -> str:
    """Return what a document is called: its title and heading path, else its source."""
    metadata = document.get("metadata") or {}
    title, heading = str(metadata.get("title") or ""), metadata.get("heading") or ""
    path = " > ".join(map(str, heading)) if isinstance(heading, list) else str(heading)
    if path == title or path.startswith(f"{title} > "):
        title = ""  # the first heading of a page often is its title
    name = " > ".join(part for part in (title, path) if part) or str(
        metadata.get("source") or document.get("id") or "untitled"
    )
    return shorten(one_line(name), limit)


def cited(citation: Mapping[str, Any], *, base: Path | None = None) -> tuple[str, str]:
    """Return the title of a citation, and where it is: path or URL, locator, corpus or web.

    Paths below the folder `base` are told from there.
    """
    source = one_line(str(citation.get("source") or citation.get("document_id") or ""))
    if base is not None and citation.get("kind") == "path" and Path(source).is_relative_to(base):
        source = str(Path(source).relative_to(base))
    title = one_line(str(citation.get("title") or ""))
    where = [source] if title not in ("", source) else []
    if citation.get("locator"):
        where.append(one_line(str(citation["locator"])))
    where.append("web" if citation.get("origin") == "web" else "corpus")
    return title or source, ", ".join(where)


def grouped(strips: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the strips by their document, in the order in which the documents come."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for strip in strips:
        groups.setdefault(str(strip.get("document_id", "")), []).append(strip)
    return groups


def one_line(text: str) -> str:
    """Return `text` cleaned, its white space runs made one space."""
    return " ".join(clean_text(text).split())


def _number(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, int | float) else "?"
