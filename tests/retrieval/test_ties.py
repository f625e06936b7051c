import random

from hypothesis import given
from hypothesis import strategies as st

from crag_graph.retrieval.index import Scored
from crag_graph.retrieval.ties import TiedSearch


def search(scores: list[float], *, limit: int, seed: int) -> tuple[list[str], int]:
    """Search a store that orders equal scores at random; return the ids found and the calls."""
    shuffle = random.Random(seed)
    tied = TiedSearch(["dense"], limit=limit)
    calls = 0
    while tied.depth is not None:
        hits = [Scored(id=f"{n:04}", score=score) for n, score in enumerate(scores)]
        shuffle.shuffle(hits)
        hits.sort(key=lambda hit: -hit.score)
        tied.take([hits[: tied.depth]])
        calls += 1
    return [hit.id for hit in tied.found("dense")], calls


@given(
    scores=st.lists(st.sampled_from([0.1, 0.5, 0.9]), max_size=300),
    limit=st.integers(1, 60),
    seed=st.integers(0, 3),
)
def test_the_same_hits_are_found_whatever_the_order_of_equals(
    scores: list[float], limit: int, seed: int
) -> None:
    expected = sorted(range(len(scores)), key=lambda n: (-scores[n], n))[:limit]
    assert search(scores, limit=limit, seed=seed)[0] == [f"{n:04}" for n in expected]


def test_one_call_is_enough_without_a_long_group_of_equals() -> None:
    assert search([n / 100 for n in range(100)], limit=50, seed=1)[1] == 1
    assert search([0.5] * 57, limit=50, seed=1)[1] == 1
    assert search([], limit=50, seed=1)[1] == 1


def test_very_long_groups_do_not_go_on_for_ever() -> None:
    found, calls = search([0.5] * 5000, limit=5, seed=1)
    assert len(found) == 5
    assert calls <= 4


def test_without_lists_there_is_nothing_to_ask() -> None:
    tied = TiedSearch([], limit=5)
    assert tied.depth is None
    assert tied.found("dense") == []
    assert tied.found(None) == []


def test_scores_that_differ_by_the_rounding_of_a_sum_are_equal() -> None:
    search = TiedSearch(["sparse"], limit=3)
    near = (5.353791236877441, 5.3537917137146)
    search.take([[Scored(id="b", score=near[1]), Scored(id="a", score=near[0])]])
    found = search.found("sparse")
    assert [hit.id for hit in found] == ["a", "b"]
    assert found[0].score == found[1].score


def test_scores_that_differ_by_more_keep_their_order() -> None:
    search = TiedSearch(["dense"], limit=3)
    search.take([[Scored(id="b", score=0.71236), Scored(id="a", score=0.71234)]])
    assert [hit.id for hit in search.found("dense")] == ["b", "a"]
