"""OpenTelemetry spans that keep only the class of an error: its message may quote a document."""

from collections.abc import Mapping
from typing import Any

from opentelemetry.trace import Span, SpanContext, Status, StatusCode, Tracer, TracerProvider
from opentelemetry.util import types

_KEPT = "exception.type"


class QuietProvider(TracerProvider):
    """Gives out tracers of `provider` whose spans are quiet."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider

    def get_tracer(self, *args: Any, **kwargs: Any) -> Tracer:
        """Return the tracer, made quiet."""
        return _QuietTracer(self._provider.get_tracer(*args, **kwargs))


class _QuietTracer(Tracer):
    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def start_span(self, *args: Any, **kwargs: Any) -> Span:
        return _QuietSpan(self._tracer.start_span(*args, **kwargs))

    def start_as_current_span(self, *args: Any, **kwargs: Any) -> Any:
        return self._tracer.start_as_current_span(*args, **kwargs)


class _QuietSpan(Span):
    def __init__(self, span: Span) -> None:
        self._span = span

    def record_exception(self, exception: BaseException, *_: Any, **__: Any) -> None:
        self.add_event("exception", {_KEPT: type(exception).__qualname__})

    def add_event(
        self, name: str, attributes: types.Attributes = None, timestamp: int | None = None
    ) -> None:
        kept = {key: value for key, value in (attributes or {}).items() if key == _KEPT}
        self._span.add_event(name, kept, timestamp)

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        del description
        self._span.set_status(status.status_code if isinstance(status, Status) else status)

    def set_attributes(self, attributes: Mapping[str, types.AttributeValue]) -> None:
        self._span.set_attributes(attributes)

    def set_attribute(self, key: str, value: types.AttributeValue) -> None:
        self._span.set_attribute(key, value)

    def get_span_context(self) -> SpanContext:
        return self._span.get_span_context()

    def update_name(self, name: str) -> None:
        self._span.update_name(name)

    def is_recording(self) -> bool:
        return self._span.is_recording()

    def end(self, end_time: int | None = None) -> None:
        self._span.end(end_time)
