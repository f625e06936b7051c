"""What a document is called."""

from langchain_core.documents import Document


def title_of(document: Document) -> str:
    """Return the document's title with its heading path, or whichever of them it has."""
    title = str(document.metadata.get("title") or "")
    heading = document.metadata.get("heading") or ""
    path = " > ".join(map(str, heading)) if isinstance(heading, list) else str(heading)
    return " > ".join(part for part in (title, path) if part and part != title) or title
