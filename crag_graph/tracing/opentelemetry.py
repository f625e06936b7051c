"""OpenTelemetry traces of every run, for Phoenix or any other collector."""

from typing import TYPE_CHECKING, Any

from crag_graph.errors import ConfigurationError
from crag_graph.tracing.payloads import trace_payloads

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
