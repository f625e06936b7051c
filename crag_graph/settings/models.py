"""The knobs of grading and answering with a language model, and the limits of a run."""

from typing import Literal

from pydantic import BaseModel

from crag_graph.settings.knob import knob

EvaluationMode = Literal["fused", "staged", "per_passage"]


class ModelKnobs(BaseModel):
    """How models are asked, and how often."""

    evaluation_mode: EvaluationMode = knob(
        "How a model grades",
        "fused: one call grades, marks strips and writes the web query; staged: these are three "
        "calls; per_passage: one call a passage, on 0–1. Of no effect without a model.",
        "evaluate",
        "refine",
        "web_search",
        default="fused",
    )
    batch_passages: int = knob(
        "Passages a call",
        "Most passages that one grading call holds; more are graded in parallel calls.",
        "evaluate",
        ge=1,
        le=100,
        default=20,
    )
    batch_tokens: int = knob(
        "Tokens a call",
        "Most tokens of passages that one grading call holds, about.",
        "evaluate",
        ge=500,
        le=200_000,
        default=8000,
    )
    passage_tokens: int = knob(
        "Tokens a passage",
        "A longer passage is graded by its beginning and its best matching parts, about so long.",
        "evaluate",
        ge=100,
        le=50_000,
        default=1500,
    )
    sub_queries: int = knob(
        "Web queries",
        "Most web queries that a question of several parts is split into.",
        "evaluate",
        "web_search",
        ge=1,
        le=5,
        default=1,
    )
    withhold_instructions: bool = knob(
        "Withhold instructions",
        "Keep sentences of passages that give the model orders from it. Turn it off for a corpus "
        "about prompts; passages stay fenced as data, and the local evaluator reads no such "
        "sentence, either way.",
        "evaluate",
        "refine",
        "generate",
        default=True,
    )
    verify_quotes: bool = knob(
        "Verify quotes",
        "Check that each cited sentence of the answer overlaps what it cites; report the share.",
        "generate",
        default=False,
    )
    max_llm_calls: int | None = knob(
        "Model calls a run",
        "Most requests to language models; then the run goes on without one. Unset: no limit.",
        "evaluate",
        "refine",
        "web_search",
        "generate",
        ge=0,
        le=1000,
        default=None,
    )
    max_tokens: int | None = knob(
        "Tokens a run",
        "Most tokens in and out, over all model calls. Unset: no limit.",
        "evaluate",
        "refine",
        "web_search",
        "generate",
        ge=0,
        le=10_000_000,
        default=None,
    )
    max_seconds: float | None = knob(
        "Seconds a run",
        "After so long no further model call or search is begun. Unset: no limit.",
        "evaluate",
        "refine",
        "web_search",
        "generate",
        gt=0,
        le=3600,
        default=None,
    )
