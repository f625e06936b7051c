"""Logs as one JSON object a line, for applications that serve the graph themselves.

The LangGraph server does the same by itself with `LOG_JSON=true`.
"""

import datetime
import json
import logging

from crag_graph.redaction import redact


class JsonFormatter(logging.Formatter):
    """Formats a record with its time (UTC), level, logger, message, error, and the run's facts."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line of JSON, credentials masked."""
        entry: dict[str, object] = {
            "timestamp": datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": redact(record.getMessage()),
        }
        if (facts := getattr(record, "crag", None)) is not None:
            entry["crag"] = facts
        if record.exc_info:
            entry["exception"] = redact(self.formatException(record.exc_info))
        return json.dumps(entry, ensure_ascii=False, default=str)


def log_runs_as_json(level: int = logging.INFO) -> logging.Handler:
    """Return the handler that now writes the package's logs to stderr as JSON lines.

    Take it off again with `logging.getLogger("crag_graph").removeHandler(handler)`.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("crag_graph")
    logger.addHandler(handler)
    logger.setLevel(level)
    return handler
