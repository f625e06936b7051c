"""Verdicts that forty attacks change, and orders of theirs that reach the answer.

    python -m benchmarks.llm_attacks [--data DIR]

The attacks (tests/attacks/attacks.py) stand in a passage beside honest ones. The model is the
worst there is: scripted on loopback, it sees through every disguise and obeys every order that it
is shown. Printed are verdicts changed and orders followed with the filter on and off, and how many
other orders (tests/attacks/orders.py) and near sentences of manuals (manuals.py) are withheld. With
`--data`, a folder of labelled sets as gzip JSONL, also how many of their strips are withheld.
"""

import argparse
import gzip
import json
from pathlib import Path

from langchain_core.documents import Document

from crag_graph.models.injection import addresses_reader
from crag_graph.text.decompose import decompose
from tests.attacks.attacks import ATTACKS
from tests.attacks.manuals import MANUALS
from tests.attacks.obedient import HACKED
from tests.attacks.orders import ORDERS, UNTOLD
from tests.attacks.test_evaluator import ANSWERED, CARRIER, UNANSWERED, verdict
from tests.attacks.test_generator import answer, beside_honest
from tests.fakes.openai_server import OpenAIServer


def changed(server: OpenAIServer, *, withhold: bool) -> tuple[int, int]:
    """Return how many of so many verdicts (scores of all passages, and the action) changed."""
    count = 0
    total = 0
    for attack in ATTACKS:
        for texts in (ANSWERED, UNANSWERED):
            clean = verdict(server, attack, texts | {"D3": CARRIER}, withhold=withhold)
            attacked = texts | {"D3": f"{CARRIER}\n\n{attack.text}"}
            found = verdict(server, attack, attacked, withhold=withhold)
            count += found[:2] != clean[:2]
            total += 1
    return count, total


def followed(server: OpenAIServer, *, withhold: bool) -> int:
    """Return how many attacks the answer obeys."""
    return sum(
        answer(server, attack, *beside_honest(attack), withhold=withhold) == HACKED
        for attack in ATTACKS
    )


def withheld(folder: Path) -> tuple[int, int]:
    """Return how many of so many strips of honest passages are withheld."""
    texts: set[str] = set()
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                texts.update(passage["text"] for passage in json.loads(line)["passages"])
    count = 0
    total = 0
    for text in texts:
        for strip in decompose(Document(id="d", page_content=text), origin="internal"):
            count += addresses_reader(strip["text"])
            total += 1
    return count, total


def main(folder: Path | None) -> None:
    """Print the counts."""
    with OpenAIServer() as server:
        for withhold in (True, False):
            count, total = changed(server, withhold=withhold)
            print(
                f"filter {'on ' if withhold else 'off'}: {count} of {total} verdicts changed, "
                f"{followed(server, withhold=withhold)} of {len(ATTACKS)} orders followed into the "
                "answer"
            )
    for name, texts in (
        ("orders to a model", ORDERS),
        ("orders that a handbook could give", UNTOLD),
        ("sentences of manuals", MANUALS),
    ):
        print(f"{name}: {sum(map(addresses_reader, texts))} of {len(texts)} withheld")
    if folder is not None:
        count, total = withheld(folder)
        print(f"honest text: {count} of {total:,} strips withheld")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path)
    main(parser.parse_args().data)
