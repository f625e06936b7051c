"""What a server holds, asked once: its collections, their chunks and what they were made with."""

import dataclasses

from crag_graph.errors import CollectionMismatchError, CRAGError
from crag_graph.retrieval.server.address import ServerAddress
from crag_graph.retrieval.server.connection import ServerConnection
from crag_graph.retrieval.server.setup import recognise
from crag_graph.transient import RetryPolicy

_SECONDS = 5.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerCollection:
    """One collection of a server.

    Attributes:
        name: Its name.
        chunks: How many points it has.
        embedding_model: What it was made with; empty where another tool made it.
        dimension: Components of a vector; 0 where it has none that could be searched.
        problem: Why it cannot be searched; empty when it can.
    """

    name: str
    chunks: int = 0
    embedding_model: str = ""
    dimension: int = 0
    problem: str = ""


def list_server(
    url: str, *, api_key: str | None = None, seconds: float = _SECONDS
) -> list[ServerCollection]:
    """Return the collections of the server at `url`, by name. Nothing is asked twice.

    Args:
        url: The server.
        api_key: Its key.
        seconds: Time-out of each request.

    Raises:
        ConfigurationError: The URL is not one, or the key would travel unencrypted.
        StoreError: The server cannot be reached or refuses.
    """
    connection = ServerConnection(
        ServerAddress.parse(url),
        collection="",
        api_key=api_key,
        seconds=seconds,
        policy=RetryPolicy(attempts=1),
    )
    try:
        found = connection.call(lambda client: client.get_collections()).collections
        return [_ask(connection, name) for name in sorted(each.name for each in found)]
    finally:
        connection.close()


def _ask(connection: ServerConnection, name: str) -> ServerCollection:
    try:
        schema, _ = recognise(connection, name, content_key=None)
        chunks = connection.call(lambda client: client.count(name, exact=True)).count
    except CollectionMismatchError as error:
        return ServerCollection(name=name, problem=error.message)
    except CRAGError as error:
        if error.transient:  # it went away in between
            raise
        return ServerCollection(name=name, problem=error.message)
    return ServerCollection(
        name=name,
        chunks=chunks,
        embedding_model=schema.embedding_model,
        dimension=schema.dimension,
    )
