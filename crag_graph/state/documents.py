"""The reducer of documents: each with an id, plain, and a `Document` again after JSON."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from crag_graph.state.plain import encodable, plain

_SMALL = 2**53  # what every JSON client holds exactly; larger ones go the long way


def as_documents(_: Sequence[Document] | None, new: Sequence[Any] | None) -> list[Document]:
    """Return `new` as documents with an id each and plain metadata; the old list is dropped.

    Accepts what Studio and JSON clients post (dicts, also in LangChain's serialised form) beside
    `Document`. A document without an id gets one that follows from its source and text; a second
    document with the same id gets a suffix, so that grades and strips can be told apart.

    Raises:
        ValueError: An item is neither a document nor a mapping with `page_content`.
    """
    documents: list[Document] = []
    taken: set[str] = set()
    for item in new or ():
        document = _as_document(item)
        base = identifier = encodable(document.id or "") or _identifier(document)
        copy = 1
        while identifier in taken:
            copy += 1
            identifier = f"{base}#{copy}"
        taken.add(identifier)
        text = encodable(document.page_content)
        if identifier == document.id and text == document.page_content and _is_plain(document):
            documents.append(document)  # as most are, since the nodes write none that are not
            continue
        metadata = plain(document.metadata)
        documents.append(Document(id=identifier, page_content=text, metadata=metadata))
    return documents


def _is_plain(document: Document) -> bool:
    """Return whether a document's metadata surely is plain: flat, ASCII, of Python's own types."""
    return type(document) is Document and all(
        type(key) is str
        and key.isascii()
        and (
            value is None
            or type(value) is bool
            or (type(value) is int and abs(value) < _SMALL)
            or (type(value) is float and math.isfinite(value))
            or (type(value) is str and value.isascii() and "\x00" not in value)
        )
        for key, value in document.metadata.items()
    )


def _as_document(item: Any) -> Document:
    if isinstance(item, Document):
        return item
    if isinstance(item, Mapping):
        fields = item["kwargs"] if "kwargs" in item and "page_content" not in item else item
        text = fields.get("page_content")
        if isinstance(text, str):
            return Document(
                id=fields.get("id"), page_content=text, metadata=fields.get("metadata") or {}
            )
    raise ValueError("a document needs a text under 'page_content'")


def _identifier(document: Document) -> str:
    source = str(document.metadata.get("source", ""))
    key = f"{source}\n{document.page_content}".encode("utf-8", "replace")
    return hashlib.sha256(key).hexdigest()[:16]
