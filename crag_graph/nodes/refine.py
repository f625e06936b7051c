"""refine: keep the knowledge strips of the corpus that hold up, drop the rest."""

from crag_graph.nodes.base import Node, Update, emit
from crag_graph.settings import Settings
from crag_graph.state import CRAGState, Strip
from crag_graph.text.strips import deduplicate, select


class RefineNode(Node):
    """Selects strips by the scores that the evaluator gave them.

    Only passages graded above the lower threshold are used. A passage graded up to the upper one is
    kept whole when none of its strips clears the floor, and so is one whose strips were not judged.
    When grading failed as a whole, every passage is kept: a failure is never a verdict.
    """

    key = "refine"

    def run(self, state: CRAGState, settings: Settings) -> Update:
        """Return the internal strips, each marked as kept or not."""
        strips = [strip for strip in state.get("strips") or [] if strip["origin"] == "internal"]
        usable, high = self._documents(state, settings, strips)
        chosen = select(
            [strip for strip in strips if strip["document_id"] in usable],
            floor=settings.strip_floor,
            top_k=settings.strip_top_k,
            keep_documents=high,
            distinct=True,
        )
        by_id = {strip["id"]: strip for strip in deduplicate(chosen)}
        refined: list[Strip] = [
            by_id.get(strip["id"], {**strip, "kept": False}) for strip in strips
        ]
        kept = sum(strip["kept"] for strip in refined)
        emit("refined", kept=kept, strips=len(refined))
        update = self.report(
            state,
            decided=f"kept {kept} of {len(refined)} strips",
            why=f"floor {settings.strip_floor:.2f}, at most {settings.strip_top_k}",
        )
        return update | ({"strips": refined} if refined else {})

    async def arun(self, state: CRAGState, settings: Settings) -> Update:
        """Return the internal strips, each marked as kept or not."""
        return self.run(state, settings)

    def _documents(
        self, state: CRAGState, settings: Settings, strips: list[Strip]
    ) -> tuple[set[str], set[str]]:
        """Return the documents that may be used, and those that are kept whole if need be."""
        grades = state.get("grades") or []
        if all(grade["score"] is None for grade in grades):
            every = {strip["document_id"] for strip in strips}
            return every, every
        thresholds = self.services.thresholds(settings)
        judged = {strip["document_id"] for strip in strips if strip["score"] is not None}
        scores = {grade["document_id"]: grade["score"] for grade in grades}
        usable = {key for key, score in scores.items() if score and score > thresholds.lower}
        high = {
            key for key in usable if key not in judged or (scores[key] or 0.0) >= thresholds.upper
        }
        return usable, high
