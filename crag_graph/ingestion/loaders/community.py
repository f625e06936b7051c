"""Formats that langchain-community reads best; it does not come with this package."""

import io
import warnings
from collections.abc import Iterator
from typing import Any

from crag_graph.ingestion.loaders.base import LoadedPart, Source
from crag_graph.ingestion.loaders.text import parse_code

_EXPORT = b"<mediawiki"
_WINDOW = 2048
_ARTICLES = (0, 4, 12)  # articles, the project's own pages, help: the rest is talk and templates
_ADVICE = (
    "a MediaWiki export needs three more packages: "
    "pip install langchain-community mwxml mwparserfromhell"
)


def parse_xml_file(source: Source) -> Iterator[LoadedPart]:
    """Yield the articles of a MediaWiki export, or any other XML as source code.

    Raises:
        LoadError: It is an export, and langchain-community, mwxml or mwparserfromhell is missing.
    """
    if _EXPORT not in source.data[:_WINDOW]:
        yield from parse_code(source)
        return
    for number, document in enumerate(_articles(source), start=1):
        metadata = {"title": document.metadata["source"], "section": number}
        yield LoadedPart(text=document.page_content, metadata=metadata)


def _articles(source: Source) -> Iterator[Any]:
    try:
        with warnings.catch_warnings():
            # It warns on import that it is no longer developed, which tells our users nothing.
            warnings.simplefilter("ignore", DeprecationWarning)
            import mwparserfromhell  # noqa: F401  # the loader would only miss it at the first page
            import mwxml
            from langchain_community.document_loaders.mediawikidump import MWDumpLoader
    except ImportError as error:
        raise source.error(_ADVICE) from error

    class _Loader(MWDumpLoader):
        def _load_dump_file(self) -> Any:
            # The bytes that were read and hashed; the loader's own way leaves the file open.
            return mwxml.Dump.from_file(io.TextIOWrapper(io.BytesIO(source.data), "utf-8"))

    loader = _Loader(source.path, namespaces=_ARTICLES, skip_redirects=True)
    for document in loader.lazy_load():
        if document is not None:
            yield document
