"""Formats that langchain-community reads best; it is not installed with this package."""

import warnings
from collections.abc import Iterator

from crag_graph.retrieval.loaders.archives import core_properties, open_archive
from crag_graph.retrieval.loaders.base import LoadedPart, Source


def parse_visio(source: Source) -> Iterator[LoadedPart]:
    """Yield the drawing pages of a Visio file that have text, with number and name.

    Raises:
        LoadError: langchain-community or xmltodict is not installed; or the file is damaged.
    """
    with open_archive(source, kind="a Visio drawing") as archive:
        metadata = core_properties(archive)
    try:
        with warnings.catch_warnings():
            # It warns on import that it is no longer developed, which tells our users nothing.
            warnings.simplefilter("ignore", DeprecationWarning)
            import xmltodict  # noqa: F401
            from langchain_community.document_loaders.parsers.vsdx import VsdxParser
            from langchain_core.document_loaders import Blob
    except ImportError as error:
        raise source.error(
            "Visio drawings need langchain-community and xmltodict: "
            "pip install langchain-community xmltodict"
        ) from error
    blob = Blob.from_data(source.data, path=str(source.path))
    for document in VsdxParser().lazy_parse(blob):
        page = {"page": document.metadata["page"], "heading": document.metadata["page_name"]}
        yield LoadedPart(text=document.page_content, metadata={**metadata, **page})
