"""A web application that streams a run to the browser as server-sent events.

pip install starlette uvicorn
python examples/web_app.py          # then: curl -N "http://127.0.0.1:8000/ask?q=…"
"""

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from crag_graph import Services, build_graph
from crag_graph.models.local.embeddings import LocalEmbeddings
from crag_graph.serving.sse import HEADERS, server_sent_events

NOTES = [
    Document("The inlet valve closes first.", metadata={"source": "valves.md"}),
]


def build() -> Starlette:
    """Return the application; its one graph serves all requests."""
    store = InMemoryVectorStore.from_documents(NOTES, LocalEmbeddings())
    graph = build_graph(Services.from_env(retriever=store.as_retriever()))

    async def ask(request: Request) -> StreamingResponse:
        events = server_sent_events(graph, {"question": request.query_params.get("q", "")})
        return StreamingResponse(events, headers=HEADERS)

    return Starlette(routes=[Route("/ask", ask)])


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(build(), port=8000)
