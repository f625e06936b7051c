"""OpenTelemetry traces of every run, for Phoenix or any other collector."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from crag_graph.errors import ConfigurationError
from crag_graph.tracing.payloads import trace_payloads

ENDPOINT_VARIABLE = "CRAG_OTEL_ENDPOINT"
"""Where the LangGraph server sends traces, for example `http://127.0.0.1:6006/v1/traces`."""

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider


def instrument(
    tracer_provider: "TracerProvider | None" = None, *, payloads: bool | None = None
) -> Any:
    """Return OpenInference's instrumentor of LangChain, at work: each run becomes spans.

    Call `uninstrument()` on it to end that.

    Args:
        tracer_provider: Where spans go; by default OpenTelemetry's global provider.
        payloads: Whether spans may hold the texts of questions, documents, prompts and answers; by
            default what `CRAG_TRACE_PAYLOADS` says.

    Raises:
        ConfigurationError: The package `openinference-instrumentation-langchain` is missing.
    """
    try:
        from openinference.instrumentation import TraceConfig
        from openinference.instrumentation.langchain import LangChainInstrumentor
        from opentelemetry.trace import get_tracer_provider
    except ImportError:
        raise ConfigurationError(
            "OpenTelemetry traces need a package that is not installed: run "
            "`pip install openinference-instrumentation-langchain`"
        ) from None
    hidden = not (trace_payloads() if payloads is None else payloads)
    config = TraceConfig(
        hide_inputs=hidden, hide_outputs=hidden, hide_llm_tools=hidden, hide_embeddings_text=hidden
    )
    provider = tracer_provider or get_tracer_provider()
    if hidden:
        from crag_graph.tracing.quiet_spans import QuietProvider

        provider = QuietProvider(provider)
    instrumentor = LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=provider, config=config)
    return instrumentor


@contextlib.contextmanager
def instrumented(environ: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Send traces to the collector that `CRAG_OTEL_ENDPOINT` names; nothing where it names none.

    Raises:
        ConfigurationError: A package of the extra `otel` is missing.
    """
    endpoint = environ.get(ENDPOINT_VARIABLE, "").strip()
    if not endpoint:
        yield
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise ConfigurationError(
            f"{ENDPOINT_VARIABLE} is set, which needs packages that are not installed: run "
            '`pip install "crag-graph[otel]"`'
        ) from None
    provider = TracerProvider(resource=Resource.create({"service.name": "crag-graph"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    instrumentor = instrument(provider, payloads=trace_payloads(environ))
    try:
        yield
    finally:
        instrumentor.uninstrument()
        provider.shutdown()
