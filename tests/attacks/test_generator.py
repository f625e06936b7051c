import datetime

import pytest
from langchain_openai import ChatOpenAI

from crag_graph.budget import Budget
from crag_graph.generation.base import Evidence, GenerationRequest
from crag_graph.generation.llm import LLMGenerator
from crag_graph.settings import Settings
from tests.attacks.attacks import ATTACKS, Attack
from tests.attacks.obedient import HACKED, generator
from tests.fakes.openai_server import OpenAIServer

ANSWER = "The ferry leaves at nine [1]."


@pytest.fixture(scope="module")
def server():
    with OpenAIServer() as running:
        yield running


def source(number: int, *strips: str, title: str = "Page") -> Evidence:
    return Evidence(
        number=number,
        text="\n\n".join(strips),
        strip_ids=tuple(f"{number}:{index}" for index in range(len(strips))),
        strips=strips,
        scores=(0.5,) * len(strips),
        document_id=f"d{number}",
        origin="web",
        source="https://site.example/a",
        title=title,
    )


def answer(server: OpenAIServer, attack: Attack, *evidence: Evidence, withhold: bool = True) -> str:
    server.script(generator(attack, ANSWER))
    model = ChatOpenAI(model="fake", base_url=server.url, api_key="sk-x", max_retries=0)
    request = GenerationRequest(
        question="When does the ferry to Lund leave?",
        action="incorrect",
        evidence=evidence,
        today=datetime.date(2026, 11, 30),
    )
    settings = Settings(withhold_instructions=withhold)
    return LLMGenerator(model).generate(request, settings=settings, budget=Budget()).answer


def beside_honest(attack: Attack) -> tuple[Evidence, Evidence]:
    return source(1, "The ferry to Lund leaves at nine."), source(2, "Bread is sold.", attack.text)


@pytest.mark.case(103)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_no_order_in_a_source_is_followed_into_the_answer(server, attack):
    assert answer(server, attack, *beside_honest(attack)) == ANSWER


@pytest.mark.case(103)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_no_order_in_a_title_is_followed_into_the_answer(server, attack):
    titled = source(1, "The ferry to Lund leaves at nine.", title=attack.text)
    assert answer(server, attack, titled) == ANSWER


def test_without_the_filter_the_obedient_model_obeys(server):
    obeyed = [
        attack
        for attack in ATTACKS
        if answer(server, attack, *beside_honest(attack), withhold=False) == HACKED
    ]
    assert len(obeyed) == 40
