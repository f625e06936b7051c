"""The sources under an answer in a chat: a short list for people to read."""

from collections.abc import Sequence

from crag_graph.state import Citation
from crag_graph.text.clean import clean_text, shorten
from crag_graph.text.markdown import safe_markdown

_HEADING = "\n\nSources:\n"
_LONGEST = 160


def with_sources(answer: str, citations: Sequence[Citation]) -> str:
    """Return the answer with a Markdown list of its sources; the answer alone where it cites none.

    Titles come from documents, so links and images in them are taken out.
    """
    if not citations:
        return answer
    return answer + _HEADING + "\n".join(_line(citation) for citation in citations)


def without_sources(message: str) -> str:
    """Return what `with_sources` was given: the answer without the list."""
    answer, heading, _ = message.rpartition(_HEADING)
    return answer if heading else message


def _line(citation: Citation) -> str:
    source = citation["source"]
    parts = [citation["title"], source if source != citation["title"] else "", citation["locator"]]
    shown = ", ".join(
        shorten(" ".join(clean_text(part).split()), _LONGEST) for part in parts if part.strip()
    )
    safe, _ = safe_markdown(shown, allowed_urls=[source])
    return f"- [{citation['number']}] {safe}"
