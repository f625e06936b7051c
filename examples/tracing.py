"""OpenTelemetry traces of a run; here they are printed, with Phoenix they go to its collector.

    pip install "crag-graph[otel]"
    python examples/tracing.py

For Phoenix, or any other collector, replace the exporter:

    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    exporter = OTLPSpanExporter("http://127.0.0.1:6006/v1/traces")
"""

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from crag_graph import Services, build_graph
from crag_graph.models.local.embeddings import LocalEmbeddings
from crag_graph.tracing.opentelemetry import instrument

NOTES = [Document("The inlet valve closes first.", metadata={"source": "valves.md"})]


def main() -> None:
    """Ask one question, and show the spans with their kinds; `payloads=False` leaves texts out."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor = instrument(provider, payloads=False)
    try:
        store = InMemoryVectorStore.from_documents(NOTES, LocalEmbeddings())
        graph = build_graph(Services.from_env(retriever=store.as_retriever()))
        graph.invoke({"question": "Which valve closes first?"})
    finally:
        instrumentor.uninstrument()
        provider.shutdown()
    for span in exporter.get_finished_spans():
        milliseconds = ((span.end_time or 0) - (span.start_time or 0)) / 1e6
        kind = (span.attributes or {}).get("openinference.span.kind")
        print(f"{span.name:40} {kind!s:10} {milliseconds:7.1f} ms")


if __name__ == "__main__":
    main()
