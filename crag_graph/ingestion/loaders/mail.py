"""Mail messages (.eml) and web pages saved as one file (.mhtml)."""

from collections.abc import Iterator
from datetime import datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from crag_graph.ingestion.loaders.base import LoadedPart, Source
from crag_graph.ingestion.loaders.dates import iso_date
from crag_graph.ingestion.loaders.html import html_to_markdown

_SHOWN = ("From", "To", "Date", "Subject")


def parse_mail(source: Source) -> Iterator[LoadedPart]:
    """Yield a message: who, when and about what, then its body. Attachments are not read.

    Raises:
        LoadError: It has no headers, so it is no message.
    """
    message = message_from_bytes(source.data, policy=policy.default)
    if not isinstance(message, EmailMessage) or not message.keys():
        raise source.error("not a mail message: it has no headers")
    saved_page = source.suffix != ".eml"
    body = message.get_body(("html", "plain") if saved_page else ("plain", "html"))
    text = ""
    found: dict[str, Any] = {}
    if body is not None:
        text = str(body.get_content())
        if body.get_content_type() == "text/html":
            text, found = html_to_markdown(text)
    metadata: dict[str, Any] = dict(found) if saved_page else {}
    if "title" not in metadata and message["Subject"]:
        metadata["title"] = str(message["Subject"])
    if "published" not in metadata and (sent := _sent(message)):
        metadata["published"] = sent
    if not saved_page:
        head = "\n".join(f"{name}: {message[name]}" for name in _SHOWN if message[name])
        text = f"{head}\n\n{text}"
    yield LoadedPart(text=text, kind="markdown" if saved_page else "prose", metadata=metadata)


def _sent(message: EmailMessage) -> str | None:
    when = getattr(message["Date"], "datetime", None)
    return iso_date(when) if isinstance(when, datetime) else None
