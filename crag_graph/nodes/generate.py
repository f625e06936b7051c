"""generate: one answer from the evidence that is left, with checked citations, or a refusal."""

import logging
from collections.abc import Sequence

from crag_graph.errors import BudgetExceededError
from crag_graph.generation.base import Evidence, Generation, GenerationRequest
from crag_graph.generation.evidence import cite, gather
from crag_graph.generation.extractive import ExtractiveGenerator
from crag_graph.generation.refusal import refusal
from crag_graph.nodes.base import Node, Update, budget_of, question_of
from crag_graph.settings import Settings
from crag_graph.state import CRAGState, NodeUsage, Strip, merge_usage
from crag_graph.text.citations import CheckedAnswer, check_citations
from crag_graph.text.markdown import safe_markdown
from crag_graph.wording import counted

_LOG = logging.getLogger("crag_graph.runs")
_FALLBACK = "the budget allows no generation call, so the answer is extractive"


class GenerateNode(Node):
    """Answers once, whatever the action, or refuses in code when no strip was kept.

    The join of the graph: it runs exactly once a run, and folds the notes of all nodes into the
    warnings.
    """

    key = "generate"

    def run(self, state: CRAGState, settings: Settings) -> Update:
        """Return the answer with its citations, or the refusal."""
        strips, evidence = self._gather(state, settings)
        if not evidence:
            return self._refused(state, strips)
        request = self._request(state, evidence)
        generator = self.services.generator.get()
        budget = budget_of(state, settings)
        try:
            generation = generator.generate(request, settings=settings, budget=budget)
        except BudgetExceededError:
            generator = ExtractiveGenerator()
            generation = generator.generate(request, settings=settings, budget=budget)
            return self._answered(state, strips, evidence, generation, generator.name, [_FALLBACK])
        return self._answered(state, strips, evidence, generation, generator.name)

    async def arun(self, state: CRAGState, settings: Settings) -> Update:
        """Return the answer with its citations, or the refusal."""
        strips, evidence = self._gather(state, settings)
        if not evidence:
            return self._refused(state, strips)
        request = self._request(state, evidence)
        generator = await self.services.generator.aget()
        budget = budget_of(state, settings)
        try:
            generation = await generator.agenerate(request, settings=settings, budget=budget)
        except BudgetExceededError:
            generator = ExtractiveGenerator()
            generation = await generator.agenerate(request, settings=settings, budget=budget)
            return self._answered(state, strips, evidence, generation, generator.name, [_FALLBACK])
        return self._answered(state, strips, evidence, generation, generator.name)

    @staticmethod
    def _gather(state: CRAGState, settings: Settings) -> tuple[list[Strip], list[Evidence]]:
        documents = [*(state.get("documents") or []), *(state.get("web_documents") or [])]
        return gather(state.get("strips") or [], documents, tokens=settings.evidence_tokens)

    def _request(self, state: CRAGState, evidence: Sequence[Evidence]) -> GenerationRequest:
        return GenerationRequest(
            question=question_of(state),
            action=state.get("action") or "ambiguous",
            evidence=evidence,
            history=state.get("history") or (),
            today=self.services.today(),
        )

    def _answered(
        self,
        state: CRAGState,
        strips: list[Strip],
        evidence: Sequence[Evidence],
        generation: Generation,
        generator: str,
        fallbacks: Sequence[str] = (),
    ) -> Update:
        usage: NodeUsage = {**generation.usage, "generation_calls": 1}
        sources = {item.source for item in evidence}
        safe, unsafe = safe_markdown(generation.answer, allowed_urls=sources)
        quoted = [item.text for item in evidence]
        if generation.cited is None:
            checked = check_citations(safe, count=len(evidence), quoted=quoted)
        else:
            checked = CheckedAnswer(text=safe, cited=[*generation.cited], removed=0)
        citations = [] if generation.refused else cite(evidence, checked.cited)
        warnings = list(generation.warnings)
        if checked.removed:
            warnings.append(f"removed {counted(checked.removed, 'citation')} of no source")
        if unsafe:
            warnings.append(f"removed {counted(unsafe, 'link')} that the sources do not hold")
        if not citations and not generation.refused:
            warnings.append("the answer cites none of its sources")
        why = f"{counted(len(evidence), 'source')} given, {len(citations)} cited"
        update = self._finish(
            state, generator, why, usage=usage, warnings=warnings, fallbacks=fallbacks
        )
        return update | {
            "answer": checked.text,
            "status": "refused" if generation.refused else "answered",
            "citations": citations,
            **_changed(state, strips),
        }

    def _refused(self, state: CRAGState, strips: list[Strip]) -> Update:
        answer = refusal(
            grades=state.get("grades") or [],
            documents=state.get("documents") or [],
            web_documents=state.get("web_documents") or [],
            decision=state.get("decision") or {},
        )
        update = self._finish(state, "refused", "no strip was kept, from the corpus or the web")
        return update | {
            "answer": answer,
            "status": "refused",
            "citations": [],
            **_changed(state, strips),
        }

    def finished(self, state: CRAGState, update: Update) -> None:
        """Log one line a run: what it came to and what it took, and no text of anybody's."""
        if _LOG.isEnabledFor(logging.INFO):
            usage = merge_usage(state.get("usage"), update["usage"])
            facts = {
                "action": state.get("action"),
                "status": update["status"],
                "citations": len(update["citations"]),
                "warnings": len(update["warnings"]),
                **{key: value for key, value in usage.items() if key != "nodes"},
            }
            _LOG.info("run finished", extra={"crag": facts})

    def _finish(
        self,
        state: CRAGState,
        decided: str,
        why: str,
        *,
        usage: NodeUsage | None = None,
        fallbacks: Sequence[str] = (),
        warnings: Sequence[str] = (),
    ) -> Update:
        update = self.report(
            state, decided=decided, why=why, usage=usage, fallbacks=fallbacks, warnings=warnings
        )
        stages = (state.get("decision") or {}).get("stages", {})
        earlier = [item for stage in stages.values() for item in stage.get("warnings", [])]
        update["warnings"] = list(dict.fromkeys([*earlier, *warnings]))
        update.update((key, None) for key in ("history", "filter") if state.get(key) is not None)
        return update


def _changed(state: CRAGState, strips: list[Strip]) -> Update:
    """Return the update of the strips where some are no longer kept."""
    return {"strips": strips} if strips and strips != state.get("strips") else {}
