"""A generator made of the real client and a scripted server, and short ways to ask it."""

import datetime

from langchain_openai import ChatOpenAI

from crag_graph.budget import Budget
from crag_graph.generation.base import Evidence, GenerationRequest
from crag_graph.generation.llm import LLMGenerator
from crag_graph.settings import Settings

QUESTION = "When does the ferry to Lund leave?"


ANSWER = "The ferry leaves at nine [1]."


def chat(server, name="fake", **fields):
    """The real client for `server`."""
    return ChatOpenAI(
        model=name, base_url=server.url, api_key="sk-TESTLEAK", max_retries=0, **fields
    )


def source(number, *strips, origin="internal", scores=None, **fields):
    """Evidence made of these strips."""
    place = f"docs/d{number}.md" if origin == "internal" else f"https://site{number}.example/a"
    return Evidence(
        number=number,
        text=" ".join(strips),
        strip_ids=tuple(f"d{number}:{index}" for index in range(len(strips))),
        strips=strips,
        scores=tuple(scores or [0.5] * len(strips)),
        document_id=f"d{number}",
        origin=origin,
        source=place,
        **fields,
    )


FERRY = source(1, "The ferry to Lund leaves at nine.", title="Timetable")


def ask(*evidence, **fields):
    """A request over `evidence`, by default one source about a ferry."""
    return GenerationRequest(
        question=fields.pop("question", QUESTION),
        action=fields.pop("action", "correct"),
        evidence=evidence or (FERRY,),
        today=datetime.date(2026, 11, 30),
        **fields,
    )


def generate(server, request=None, *, budget=None, fallback=None, **settings):
    """What the model at `server` answers."""
    return LLMGenerator(chat(server), fallback=fallback).generate(
        request or ask(), settings=Settings(**settings), budget=budget or Budget()
    )
