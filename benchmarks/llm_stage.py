"""What the benchmarks of the model path share: collaborators that do as the branch wants."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from crag_graph.budget import Budget
from crag_graph.evaluators.base import Evaluation, Passage
from crag_graph.evaluators.llm import LLMEvaluator
from crag_graph.generation.llm import LLMGenerator
from crag_graph.graph import CRAGGraph, build_graph
from crag_graph.retrieval.index import Filter
from crag_graph.search.base import SearchFilters, SearchResult
from crag_graph.services import Services
from crag_graph.settings import Settings
from tests.fakes.grader import by_text
from tests.fakes.openai_server import OpenAIServer, Reply, Request

Branch = Literal["correct", "incorrect", "ambiguous"]
BRANCHES: tuple[Branch, ...] = ("correct", "incorrect", "ambiguous")
QUESTION = "When does the ferry to Lund leave?"
SCORES = {"leaves at nine": 5, "leaves in the morning": 3}
_TEXTS: dict[Branch, str] = {
    "correct": "The ferry to Lund leaves at nine. It leaves from pier four on every day.",
    "ambiguous": "The ferry to Lund leaves in the morning. It is white and carries bicycles.",
    "incorrect": "The harbour of Lund is deep. Its walls are made of stone from the north.",
}
GRADES = json.dumps(
    {
        "passages": [
            {"id": f"P{number}", "reason": "", "score": 5 if number == 1 else 1, "strips": [1]}
            for number in range(1, 6)
        ],
        "web_queries": ["ferry Lund departure"],
    }
)


class Retriever:
    """Finds the same passages for every question."""

    name = "fixed"

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = list(documents)

    def retrieve(
        self, question: str, *, settings: Settings, where: Filter | None = None
    ) -> list[Document]:
        """Return the passages."""
        del question, where
        return self.documents[: settings.top_k]

    async def aretrieve(
        self, question: str, *, settings: Settings, where: Filter | None = None
    ) -> list[Document]:
        """Return the passages."""
        return self.retrieve(question, settings=settings, where=where)

    def is_empty(self) -> bool:
        """Return False."""
        return False


class Web:
    """Finds one page after `delay` seconds; `spans` are when it was asked and when it answered."""

    name = "fixed web"

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self.spans: list[tuple[float, float]] = []

    def search(
        self, query: str, *, max_results: int, seconds: float, filters: SearchFilters | None = None
    ) -> SearchResult:
        """Return the page."""
        del query, max_results, seconds, filters
        time.sleep(self.delay)
        return self._found()

    async def asearch(
        self, query: str, *, max_results: int, seconds: float, filters: SearchFilters | None = None
    ) -> SearchResult:
        """Return the page."""
        del query, max_results, seconds, filters
        await asyncio.sleep(self.delay)
        return self._found()

    def _found(self) -> SearchResult:
        now = time.monotonic()
        self.spans.append((now - self.delay, now))
        page = {"source": "https://port.example/times", "title": "Times"}
        text = "The ferry to Lund leaves at nine in the morning."
        return SearchResult(documents=[Document(page_content=text, metadata=page)])


class Gate:
    """Judges web pages without a model: lets everything pass."""

    name = "open gate"

    def evaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the same score for everything."""
        del question, settings, budget
        return Evaluation(
            grades=[
                {
                    "document_id": passage.id,
                    "score": 0.8,
                    "raw": 0.8,
                    "status": "scored",
                    "reason": "",
                    "evaluator": self.name,
                }
                for passage in passages
            ],
            strip_scores={strip["id"]: 0.8 for passage in passages for strip in passage.strips},
        )

    async def aevaluate(
        self, question: str, passages: Sequence[Passage], *, settings: Settings, budget: Budget
    ) -> Evaluation:
        """Return the same score for everything."""
        return self.evaluate(question, passages, settings=settings, budget=budget)


class WaitingModel(BaseChatModel):
    """Waits, then says what a grader or a generator would."""

    delay: float

    @property
    def _llm_type(self) -> str:
        return "waiting"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        del stop, run_manager, kwargs
        time.sleep(self.delay)
        return self._result(messages)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        del stop, run_manager, kwargs
        await asyncio.sleep(self.delay)
        return self._result(messages)

    @staticmethod
    def _result(messages: Sequence[BaseMessage]) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=_said(messages)))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        del stop, run_manager, kwargs
        await asyncio.sleep(self.delay)
        for piece in _said(messages).split(" "):
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"{piece} "))


def _said(messages: Sequence[BaseMessage]) -> str:
    return GRADES if "<passage-" in str(messages[-1].content) else "It leaves at nine [1]."


def passages_for(branch: Branch) -> list[Document]:
    """Return five passages that the scripted grader grades so that the graph takes `branch`."""
    texts = [_TEXTS[branch], *("Bread is baked at four." for _ in range(4))]
    return [
        Document(id=f"d{number}", page_content=text, metadata={"source": f"docs/{number}.md"})
        for number, text in enumerate(texts)
    ]


def reply(request: Request, *, delay: float = 0.0) -> Reply:
    """Return what a model would: grades and queries where passages are shown, else an answer."""
    if "<evidence-" in request.last:
        return Reply(content="It leaves at nine [1].", delay=delay, pieces=4)
    graded = by_text(SCORES, query="ferry Lund departure")(request)
    return Reply(content=graded.content, delay=delay)


def chat(server: OpenAIServer) -> ChatOpenAI:
    """Return the real client for `server`."""
    return ChatOpenAI(model="fake", base_url=server.url, api_key=SecretStr("none"), max_retries=0)


def graph_with(
    model: BaseChatModel, documents: Sequence[Document], *, web: Web | None = None
) -> CRAGGraph:
    """Return the graph over `documents` with `model` in both roles."""
    return build_graph(
        Services(
            retriever=Retriever(documents),
            evaluator=LLMEvaluator(model),
            local_evaluator=Gate(),
            generator=LLMGenerator(model),
            web=web,
        )
    )
