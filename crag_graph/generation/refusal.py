"""The refusal: what is said when no evidence is left. Decided in code, without any model."""

from collections.abc import Sequence

from langchain_core.documents import Document

from crag_graph.state import Decision, Grade


def refusal(
    *,
    grades: Sequence[Grade],
    documents: Sequence[Document],
    web_documents: Sequence[Document],
    decision: Decision,
) -> str:
    """Return one paragraph that says why there is no answer, from what each side came to."""
    stages = decision.get("stages", {})
    retrieve = stages.get("retrieve", {})
    web = stages.get("web_search", {})
    return (
        f"I cannot answer this from the evidence: {_corpus(grades, documents, retrieve)}; "
        f"{_web(web_documents, web)}."
    )


def _corpus(grades: Sequence[Grade], documents: Sequence[Document], retrieve: object) -> str:
    decided = retrieve.get("decided") if isinstance(retrieve, dict) else None
    if decided == "empty collection":
        return "the collection is empty (index documents with `crag ingest`)"
    if decided == "unavailable":
        return "the corpus could not be searched"
    if not documents:
        return "nothing was found in the corpus"
    scores = [grade["score"] for grade in grades if grade["score"] is not None]
    if not scores:
        if len(documents) == 1:
            return "the one passage found could not be graded"
        return f"none of the {len(documents)} passages found could be graded"
    best = "one passage found" if len(documents) == 1 else f"best of {len(documents)} passages"
    return f"the {best} in the corpus scored {max(scores):.2f}"


def _web(documents: Sequence[Document], stage: object) -> str:
    if not isinstance(stage, dict) or not stage:
        return "the web was not searched"
    decided, why = stage.get("decided"), stage.get("why", "")
    if decided == "off":
        return f"web search is off ({why})"
    if decided == "failed":
        return "web search failed"
    if not documents:
        return "web search found nothing"
    return f"no part of {why} holds up"
