import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag_graph.retrieval.fusion import fuse
from crag_graph.retrieval.index import Scored

HALF = {"dense": 0.5, "sparse": 0.5}


def scored(**scores: float) -> list[Scored]:
    return [Scored(id=name, score=score) for name, score in scores.items()]


def test_scores_are_spread_over_each_list_and_averaged_by_weight() -> None:
    fused = fuse(
        {"dense": scored(a=0.9, b=0.7, c=0.5), "sparse": scored(b=12.0, d=4.0)},
        weights={"dense": 0.6, "sparse": 0.4},
    )
    assert [(item.id, pytest.approx(item.score)) for item in fused] == [
        ("b", 0.6 * 0.5 + 0.4),
        ("a", 0.6),
        ("c", 0.0),
        ("d", 0.0),
    ]
    assert fused[0].scores == {"dense": 0.7, "sparse": 12.0}
    assert fused[0].ranks == {"dense": 2, "sparse": 1}
    assert fused[1].scores == {"dense": 0.9}


def test_equal_scores_are_ordered_by_id() -> None:
    first = fuse({"dense": scored(b=0.5, a=0.5), "sparse": scored(d=3, c=3)}, weights=HALF)
    assert [item.id for item in first] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("hits", [scored(a=0.3), scored(a=0.0, b=0.0), scored(a=-2.0)])
def test_a_list_without_spread_gives_each_hit_all(hits: list[Scored]) -> None:
    assert [item.score for item in fuse({"dense": hits}, weights=HALF)] == [1.0] * len(hits)


def test_an_empty_list_takes_no_weight_from_the_other() -> None:
    fused = fuse({"dense": scored(a=0.9, b=0.1), "sparse": []}, weights=HALF)
    assert [(item.id, item.score) for item in fused] == [("a", 1.0), ("b", 0.0)]
    assert fuse({"dense": [], "sparse": []}, weights=HALF) == []
    assert fuse({}, weights=HALF) == []


def test_a_list_without_weight_is_left_out() -> None:
    lists = {"dense": scored(a=0.9, b=0.1), "sparse": scored(c=5.0)}
    assert [item.id for item in fuse(lists, weights={"dense": 1.0, "sparse": 0.0})] == ["a", "b"]


@pytest.mark.case(82)
@pytest.mark.case(116)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_a_number_takes_no_part(bad: float) -> None:
    fused = fuse(
        {"dense": scored(x=bad, a=0.9, b=0.1, y=bad), "sparse": scored(x=bad)}, weights=HALF
    )
    assert [(item.id, item.score) for item in fused] == [("a", 1.0), ("b", 0.0)]


def test_of_a_chunk_twice_in_a_list_the_better_counts() -> None:
    hits = [*scored(a=0.2, b=0.5), Scored(id="a", score=0.9)]
    assert [item.id for item in fuse({"dense": hits}, weights=HALF)] == ["a", "b"]


LISTS = st.lists(
    st.builds(
        Scored,
        id=st.text("abcdefgh", min_size=1, max_size=2),
        score=st.floats(allow_nan=True, allow_infinity=True, width=32),
    ),
    max_size=30,
)


@given(dense=LISTS, sparse=LISTS, weight=st.floats(0, 1))
def test_any_lists_fuse_to_one_order(
    dense: list[Scored], sparse: list[Scored], weight: float
) -> None:
    weights = {"dense": weight, "sparse": 1 - weight}
    fused = fuse({"dense": dense, "sparse": sparse}, weights=weights)
    again = fuse({"sparse": sparse[::-1], "dense": dense[::-1]}, weights=weights)
    assert [item.id for item in fused] == [item.id for item in again]
    assert all(0 <= item.score <= 1 + 1e-9 for item in fused)
    assert all(a.score >= b.score for a, b in itertools.pairwise(fused))
    assert len({item.id for item in fused}) == len(fused)
