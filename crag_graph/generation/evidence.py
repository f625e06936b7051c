"""From kept strips to numbered evidence, and from a checked answer to its citations."""

from collections.abc import Collection, Mapping, Sequence

from langchain_core.documents import Document

from crag_graph.generation.base import Evidence
from crag_graph.state import Citation, Strip
from crag_graph.text.strips import deduplicate, fit, recompose, strip_context
from crag_graph.text.titles import title_of
from crag_graph.text.tokens import estimate_tokens


def gather(
    strips: Sequence[Strip], documents: Sequence[Document], *, tokens: int
) -> tuple[list[Strip], list[Evidence]]:
    """Return all strips with their final `kept`, and the evidence made of the kept ones.

    Strips that say the same are kept once, over both origins; the lowest scored go until the rest
    fits `tokens` (estimated). Documents are numbered from the one with the best strip down, the
    corpus before the web where they are equal; within one, strips stay in the order of the text.
    """
    final = fit(deduplicate(strips), tokens=tokens, count=estimate_tokens)
    by_document: dict[str, list[Strip]] = {}
    for strip in final:
        if strip["kept"]:
            by_document.setdefault(strip["document_id"], []).append(strip)
    known = {document.id: document for document in documents}
    ranked = sorted(by_document.items(), key=lambda item: -_best(item[1]))
    return final, [
        _evidence(number, chosen, known.get(document_id))
        for number, (document_id, chosen) in enumerate(ranked, start=1)
    ]


def cite(evidence: Sequence[Evidence], numbers: Collection[int]) -> list[Citation]:
    """Return the citations of the evidence whose `numbers` the answer cites, ascending."""
    return [
        Citation(
            number=item.number,
            document_id=item.document_id,
            origin=item.origin,
            kind="url" if item.source.startswith(("http://", "https://")) else "path",
            source=item.source,
            title=item.title,
            locator=item.locator,
            strip_ids=list(item.strip_ids),
            quote=item.text,
        )
        for item in evidence
        if item.number in numbers
    ]


def _best(strips: Sequence[Strip]) -> float:
    return max(-1.0 if strip["score"] is None else strip["score"] for strip in strips)


def _evidence(number: int, strips: Sequence[Strip], document: Document | None) -> Evidence:
    metadata = document.metadata if document else {}
    text = document.page_content if document else None
    return Evidence(
        number=number,
        text=recompose(strips, text=text),
        strip_ids=tuple(strip["id"] for strip in strips),
        strips=tuple(strip["text"] for strip in strips),
        contexts=tuple(strip_context(text, strip) if text else "" for strip in strips),
        scores=tuple(strip["score"] for strip in strips),
        document_id=strips[0]["document_id"],
        origin=strips[0]["origin"],
        source=strips[0]["source"],
        title=title_of(document) if document else "",
        locator=_locator(metadata),
        published=str(metadata.get("published") or ""),
    )


def _locator(metadata: Mapping[str, object]) -> str:
    for key in ("page", "slide", "row", "line"):
        if metadata.get(key) not in (None, ""):
            return f"{key} {metadata[key]}"
    return ""
