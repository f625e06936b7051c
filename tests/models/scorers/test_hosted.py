import asyncio
import math

import pytest

from crag_graph.errors import ConfigurationError, ModelError
from crag_graph.models.scorers.base import PairScorer
from crag_graph.models.scorers.hosted import HostedScorer
from crag_graph.models.scorers.loading import load_scorer
from crag_graph.transient import RetryPolicy
from tests.fakes.web_servers import Reply, WebServer

KEY = "TESTLEAKabcdefghijklmnopqrstuvwxyz012345"
TEXTS = ["one", "two words", "three words here"]
PATHS = {"cohere": "/v2/rerank", "jina": "/v1/rerank", "voyage": "/v1/rerank", "tei": "/rerank"}


def scores_of(texts):
    return [len(text.split()) / 10 for text in texts]


def answered(shape, scores):
    """The answer of a server: best first, as all of them sort."""
    field = "score" if shape == "tei" else "relevance_score"
    ranked = sorted(enumerate(scores), key=lambda pair: -pair[1])
    results = [{"index": index, field: score} for index, score in ranked]
    return {"tei": results, "voyage": {"data": results}}.get(shape, {"results": results})


def reranker(shape):
    """A script that answers as a server of this shape."""

    def script(request):
        texts = request.body["texts" if shape == "tei" else "documents"]
        return Reply(body=answered(shape, scores_of(texts)))

    return script


def scorer(server, shape="cohere", **more):
    return HostedScorer("rerank-x", shape=shape, base_url=server.url, api_key=KEY, **more)


@pytest.mark.parametrize("shape", PATHS)
def test_each_shape_is_spoken(shape):
    with WebServer(reranker(shape)) as server:
        made = scorer(server, shape)
        assert isinstance(made, PairScorer)
        assert made.score("q", TEXTS) == [0.1, 0.2, 0.3]
        (request,) = server.requests
    assert request.path == PATHS[shape]
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body["query"] == "q"
    assert request.body.get("model") == (None if shape == "tei" else "rerank-x")
    count = {"voyage": "top_k", "tei": None}.get(shape, "top_n")
    assert count is None or request.body[count] == 3


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/", "/v1/rerank"])
def test_an_address_may_hold_a_part_of_the_path(tail):
    with WebServer(reranker("jina")) as server:
        made = HostedScorer("m", shape="jina", base_url=server.url + tail)
        made.score("q", ["a"])
        assert [request.path for request in server.requests] == ["/v1/rerank"]
        assert "authorization" not in server.requests[0].headers


def test_texts_are_sent_in_parts_that_a_server_takes():
    with WebServer(reranker("tei")) as server:
        texts = ["word " * (1 + at % 9) for at in range(70)]
        assert scorer(server, "tei").score("q", texts) == scores_of(texts)
        assert [len(request.body["texts"]) for request in server.requests] == [32, 32, 6]


async def test_both_entries_give_the_same_also_inside_a_loop():
    with WebServer(reranker("cohere")) as server:
        made = scorer(server)
        found = await asyncio.gather(*(made.ascore("q", TEXTS) for _ in range(5)))
        assert found == [[0.1, 0.2, 0.3]] * 5
        assert made.score("q", TEXTS) == [0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    ("results", "scores"),
    [
        ([(2, 0.3), (0, 0.1), (1, 0.2)], [0.1, 0.2, 0.3]),
        ([(0, 0.1)], [0.1, None, None]),  # missing
        ([(0, 0.1), (0, 0.9), (1, 0.2)], [None, 0.2, None]),  # twice, and they differ
        ([(0, 0.1), (0, 0.1)], [0.1, None, None]),  # twice the same
        ([(0, 0.1), (3, 0.9), (-1, 0.9), (True, 0.5), ("1", 0.5), (None, 0.5)], [0.1, None, None]),
        ([(0, math.nan), (1, math.inf), (2, 0.3)], [None, None, 0.3]),
        ([(0, "0.1"), (1, None), (2, True)], [None, None, None]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_scores_are_found_by_index_and_never_by_order(results, scores):
    body = {"results": [{"index": at, "relevance_score": score} for at, score in results]}
    with WebServer(Reply(body=body)) as server:
        assert scorer(server).score("q", TEXTS) == scores


FAULTS = {
    "auth": (Reply(status=401, body={"message": f"invalid api token {KEY}"}), "auth", 1),
    "forbidden": (Reply(status=403, body=f"token {KEY} not allowed"), "auth", 1),
    "rate": (
        Reply(status=429, body={"message": "slow down"}, headers={"retry-after": "0"}),
        "quota",
        2,
    ),
    "quota": (Reply(status=402, body={"detail": "no credit"}), "quota", 1),
    "server error": (Reply(status=500, body="<html>oops</html>"), "transport", 2),
    "overloaded": (
        Reply(status=503, body={"error": "busy"}, headers={"retry-after": "0"}),
        "transport",
        2,
    ),
    "bad request": (Reply(status=400, body={"message": "model not found"}), "request", 1),
    "too many texts": (
        Reply(status=413, body={"error": "batch size 33 > 32", "error_type": "Validation"}),
        "request",
        1,
    ),
    "redirect": (Reply(status=301, headers={"location": "https://elsewhere/"}), "request", 1),
    "html": (Reply(body="<html><body>Log in</body></html>"), "parse", 1),
    "cut off": (Reply(body='{"results": [{"index": 0, "relev'), "parse", 1),
    "broken off": (Reply(body={"results": []}, cut=5), "transport", 2),
    "dropped": (Reply(drop=True), "transport", 2),
    "no list": (Reply(body={"results": "none"}), "parse", 1),
    "empty list": (Reply(body={"results": []}), "parse", 1),
    "another shape": (Reply(body=[{"index": 0, "score": 0.5}]), "parse", 1),
    "a number": (Reply(body=3), "parse", 1),
    "wrong indices": (Reply(body={"results": [{"index": 9, "relevance_score": 1}]}), "parse", 1),
    "deep": (Reply(body="[" * 200_000), "parse", 1),
    "too large": (Reply(body='"' + "x" * 5_000_000 + '"'), "parse", 1),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_is_told_by_its_reason_and_tried_again_once_where_that_may_help(name):
    reply, reason, requests = FAULTS[name]
    with WebServer(reply) as server:
        with pytest.raises(ModelError) as caught:
            await scorer(server).ascore("q", TEXTS)
        assert len(server.requests) == requests
        error: BaseException | None = caught.value
        assert caught.value.reason == reason
        assert "rerank-x at 127.0.0.1" in str(error)
        while error is not None:
            assert KEY not in f"{error!r} {error}"
            error = error.__cause__ or error.__context__


def test_a_second_try_may_succeed_after_as_long_as_the_server_asks():
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    busy = Reply(status=429, body={}, headers={"retry-after": "7"})
    with WebServer([busy, Reply(body=answered("cohere", [0.5]))]) as server:
        retry = RetryPolicy(attempts=2, asleep=sleep)
        assert scorer(server, retry=retry).score("q", ["a"]) == [0.5]
        assert len(slept) == 1
        assert slept[0] >= 7


def test_no_wait_is_begun_that_would_pass_the_time_of_the_call():
    busy = Reply(status=429, body={}, headers={"retry-after": "60"})
    with WebServer(busy) as server, pytest.raises(ModelError) as caught:
        scorer(server, seconds=5).score("q", ["a"])
    assert caught.value.reason == "quota"
    assert len(server.requests) == 1


@pytest.mark.parametrize("reply", [Reply(delay=60), Reply(body={"results": []}, drip=30)])
def test_a_slow_server_is_not_waited_for(reply):
    with WebServer(reply) as server:
        with pytest.raises(ModelError, match=r"within 0\.3 seconds; raise CRAG_MODEL_TIMEOUT"):
            scorer(server, seconds=0.3).score("q", ["a"])
        with pytest.raises(ModelError, match=r"within 0\.2 seconds"):
            scorer(server).score("q", ["a"], seconds=0.2)


def test_scores_beyond_the_scale_are_no_grades():
    made = HostedScorer("m", api_key=KEY)
    assert made.scale.to_unit(0.4) == 0.4
    assert made.scale.to_unit(3.7) is None


def test_the_key_is_in_no_name_and_no_fingerprint():
    made = HostedScorer("rerank-v4", api_key=KEY)
    assert KEY not in f"{made!r} {made.name} {made.fingerprint()}"
    assert made.name == "rerank:rerank-v4"
    other = HostedScorer("rerank-v4", shape="jina", api_key=KEY)
    assert made.fingerprint() != other.fingerprint()


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "CRAG_RERANK_API_KEY"),
        ({"CRAG_RERANK_SHAPE": "pinecone"}, "cohere, jina, voyage, tei"),
        ({"CRAG_RERANK_SHAPE": "tei"}, "CRAG_RERANK_URL"),
        ({"CRAG_RERANK_URL": "localhost:8080"}, "CRAG_RERANK_URL"),
        ({"CRAG_RERANK_URL": f"http://me:{KEY}@127.0.0.1"}, "credential"),
        ({"CRAG_RERANK_API_KEY": "schlüssel"}, "characters"),
        ({"CRAG_RERANK_API_KEY": KEY, "CRAG_MODEL_TIMEOUT": "soon"}, "CRAG_MODEL_TIMEOUT"),
    ],
)
def test_what_cannot_work_is_named(variables, said):
    with pytest.raises(ConfigurationError, match=said) as caught:
        load_scorer("rerank", "m", variables)
    assert KEY not in str(caught.value)


def test_the_environment_names_address_key_shape_and_time():
    with WebServer(reranker("jina")) as server:
        variables = {
            "CRAG_RERANK_URL": server.url,
            "CRAG_RERANK_API_KEY": KEY,
            "CRAG_RERANK_SHAPE": "Jina",
            "CRAG_MODEL_TIMEOUT": "9",
        }
        assert load_scorer("rerank", "m", variables).score("q", TEXTS) == [0.1, 0.2, 0.3]
