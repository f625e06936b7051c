"""A grader made of the real client and a scripted server, and short ways to ask it."""

import datetime

from langchain_core.documents import Document
from langchain_openai import ChatOpenAI

from crag_graph.budget import Budget
from crag_graph.evaluators.grading import as_passages
from crag_graph.evaluators.llm import LLMEvaluator
from crag_graph.settings import Settings

QUESTION = "When does the ferry to Lund leave?"


TEXTS = {
    "D1": "The ferry to Lund leaves at nine. Bicycles travel free of charge on every boat.",
    "D2": "Ferries were invented long ago. Nobody knows exactly when that was.",
    "D3": "Bread is baked at four in the morning. It is sold by noon every day.",
}


SCORES = {"leaves at nine": 5, "Ferries": 2, "Bread": 1}


TODAY = datetime.date(2026, 11, 30)


def chat(server, name="fake", **fields):
    """The real client for `server`."""
    return ChatOpenAI(
        model=name, base_url=server.url, api_key="sk-TESTLEAK", max_retries=0, **fields
    )


def evaluator(server, **more):
    """An evaluator that talks to `server`."""
    return LLMEvaluator(chat(server), today=lambda: TODAY, **more)


def passages(texts=None, origin="internal"):
    """Passages of these texts by their id, cut into strips."""
    given = TEXTS if texts is None else texts
    documents = [
        Document(id=key, page_content=text, metadata={"source": f"docs/{key}.md"})
        for key, text in given.items()
    ]
    return as_passages(documents, origin=origin)


def evaluate(server, given=None, *, budget=None, question=QUESTION, **settings):
    """The evaluation of `given` by the model at `server`."""
    return evaluator(server).evaluate(
        question,
        passages() if given is None else given,
        settings=Settings(**settings),
        budget=budget or Budget(),
    )


def scores(evaluation):
    """Document id → score."""
    return {grade["document_id"]: grade["score"] for grade in evaluation.grades}


def statuses(evaluation):
    """Document id → status."""
    return {grade["document_id"]: grade["status"] for grade in evaluation.grades}


def fused(*entries, query="ferry Lund timetable"):
    """A reply of the fused form from (id, score, strips)."""
    keys = ("id", "score", "strips")
    found = [dict(zip(keys, entry, strict=True)) | {"reason": "r"} for entry in entries]
    return {"passages": found, "web_queries": [query]}
