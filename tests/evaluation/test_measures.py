"""What is measured of one question."""

import math

import pytest
from langchain_core.documents import Document

from crag_graph.evaluation import measures
from crag_graph.evaluation.examples import Example, LabelledPassage
from crag_graph.evaluation.gold import PASSAGE, Gold
from crag_graph.generation.extractive import LABEL


def test_recall_counts_the_gold_items_of_the_first_k():
    found = measures.retrieval(["a", None, "b"], {"a": 1, "b": 1, "c": 1}, depths=[1, 2, 3])
    assert [found[f"recall@{depth}"] for depth in (1, 2, 3)] == [
        (1 / 3, 1),
        (1 / 3, 1),
        (2 / 3, 1),
    ]


def test_ndcg_is_the_gain_against_the_best_order():
    found = measures.retrieval([None, "a", "b"], {"a": 1, "b": 3}, depths=[3])
    gained = 1 / math.log2(3) + 7 / math.log2(4)
    assert found["ndcg@3"][0] == pytest.approx(gained / (7 + 1 / math.log2(3)))
    assert measures.retrieval(["b", "a"], {"a": 1, "b": 3}, depths=[3])["ndcg@3"][0] == 1


def test_the_reciprocal_rank_is_that_of_the_first_gold_item():
    assert measures.retrieval([None, "a"], {"a": 1}, depths=[])["mrr"] == (0.5, 1)
    assert measures.retrieval([None], {"a": 1}, depths=[])["mrr"] == (0, 1)
    assert measures.retrieval(["a"], {}, depths=[1]) == {}


@pytest.mark.parametrize(
    ("said", "exact", "contained", "f1"),
    [
        ("The Ferry!", 1, 1, 1),
        ("It is a ferry [1].", 0, 1, 0.5),
        ("ferryboat", 0, 0, 0),
        ("a boat", 0, 0, 0),
        (f"{LABEL}\n- ferry [2]", 1, 1, 1),
    ],
)
def test_answers_are_compared_as_squad_does(said, exact, contained, f1):
    found = measures.answer(said, ["something else", "the ferry"], refused=False)
    assert found["exact"] == (exact, 1)
    assert found["contained"] == (contained, 1)
    assert found["f1"][0] == pytest.approx(f1)


def test_a_refusal_holds_no_answer_whatever_it_says():
    found = measures.answer("nothing on the ferry", ["ferry"], refused=True)
    assert found == {"exact": (0, 1), "contained": (0, 1), "f1": (0, 1)}
    assert measures.answer("x", ["the", "…"], refused=False)["f1"] == (0, 1)
    assert measures.answer("x", ["the"], refused=False) == {}


EXAMPLE = Example(
    id="q",
    question="?",
    passages=(
        LabelledPassage(
            text="One two. Three four. Five six.",
            label=1,
            sentences=(("One two.", False), ("Three four.", True), ("Five six.", True)),
        ),
        LabelledPassage(text="Cows graze.", label=0),
    ),
)
DOCUMENTS = [
    Document(id="d0", page_content=EXAMPLE.passages[0].text, metadata={PASSAGE: 0}),
    Document(id="d1", page_content=EXAMPLE.passages[1].text, metadata={PASSAGE: 1}),
]


def strip(start: int, end: int, *, document: str = "d0", kept: bool = True, origin="internal"):
    return {
        "id": f"{document}:{start}",
        "text": "",
        "document_id": document,
        "start": start,
        "end": end,
        "score": 0.5,
        "kept": kept,
        "origin": origin,
        "source": "",
    }


def test_a_sentence_is_kept_when_half_of_it_is():
    kept = [strip(0, 8), strip(9, 15), strip(21, 30, kept=False), strip(0, 9, origin="web")]
    found = measures.strips(kept, DOCUMENTS, EXAMPLE)
    assert found["precision"] == (1, 2)
    assert found["recall"] == (1, 2)
    assert found["kept_text"] == (14, 41)
    assert measures.strips([strip(9, 13)], DOCUMENTS, EXAMPLE)["recall"] == (0, 2)


def test_without_labelled_sentences_only_the_share_of_text_is_told():
    found = measures.strips([strip(0, 11, document="d1")], DOCUMENTS[1:], EXAMPLE)
    assert found == {"kept_text": (11, 11)}
    assert measures.strips([], [], EXAMPLE) == {}


def cite(document_id: str, origin="internal"):
    return {"number": 1, "document_id": document_id, "origin": origin}


def test_citations_are_compared_with_the_gold_passages():
    gold = Gold(EXAMPLE, relevant_from=1)
    found = measures.citations([cite("d0"), cite("d1"), cite("w", "web")], DOCUMENTS, gold)
    assert found == {"precision": (0.5, 1), "recall": (1, 1)}
    assert measures.citations([], DOCUMENTS, gold) == {"recall": (0, 1)}
    unlabelled = Gold(Example(id="q", question="?"), relevant_from=1)
    assert measures.citations([cite("d0")], DOCUMENTS, unlabelled) == {}


@pytest.mark.parametrize(
    ("name", "is_gold"),
    [("guide.md", True), ("docs/guide.md", True), ("uide.md", False), ("x1", True), ("d7", True)],
)
def test_gold_of_a_collection_is_named_by_id_or_by_the_end_of_the_source(name, is_gold):
    document = Document(
        id="x1", page_content="t", metadata={"source": "/home/docs/guide.md", "document_id": "d7"}
    )
    gold = Gold(Example(id="q", question="?", gold=("other", name)), relevant_from=1)
    assert gold.of(document) == (name if is_gold else None)


def test_the_second_chunk_of_a_gold_source_counts_no_more():
    chunks = [Document(page_content=text, metadata={"source": "a.md"}) for text in ("1", "2")]
    gold = Gold(Example(id="q", question="?", gold=("a.md",)), relevant_from=1)
    assert gold.ranked(chunks) == ["a.md", None]


def test_the_bar_of_graded_labels_is_inclusive():
    example = Example(
        id="q",
        question="?",
        passages=tuple(LabelledPassage(text="t", label=label) for label in (0, 1, 2, 3, None)),
    )
    assert Gold(example, relevant_from=2).grades == {2: 2, 3: 3}
