"""What the LangGraph server carries beside its own: `GET /health`, and traces where wanted.

`http.app` in langgraph.json names `app`. The server's own `/ok` tells whether the process lives,
`/health` whether it can answer: 200, or 503 with the reason. Neither needs a key.
"""

import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from crag_graph.services import shared_services
from crag_graph.serving.health import readiness
from crag_graph.tracing.opentelemetry import instrumented


async def health(request: Request) -> JSONResponse:
    """Return the readiness of the collaborators that the served graphs share."""
    del request
    ready, report = await readiness(shared_services())
    return JSONResponse(report, status_code=200 if ready else 503)


@contextlib.asynccontextmanager
async def _traced(app: Starlette) -> AsyncIterator[None]:
    """Send traces to a collector while the server runs, where the environment names one."""
    del app
    with instrumented():
        yield


app = Starlette(routes=[Route("/health", health, methods=["GET"])], lifespan=_traced)
