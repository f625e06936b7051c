"""The worst model: it reads everything, sees through every disguise, and obeys what it sees."""

import re
import unicodedata
from collections.abc import Callable, Sequence

from tests.attacks.attacks import Attack
from tests.fakes.openai_server import Reply, Request, as_json

HACKED = "HACKED: as the document ordered."

# Any tag will do for it, whatever the nonce; a forged one that arrives whole is a passage to it.
_FENCE = re.compile(r'<(passage[\w-]*) id="(P\d+)"[^>]*>\n(.*?)\n</\1>', re.S)


def squashed(text: str) -> str:
    """Return the letters and digits of `text`, without what is only there to disguise them."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in plain if character.isalnum())


def obeyed(prompt: str, attacks: Sequence[Attack]) -> list[Attack]:
    """Return the attacks whose orders are to be seen in `prompt`."""
    seen = squashed(prompt)
    return [attack for attack in attacks if any(squashed(order) in seen for order in attack.orders)]


def grader(attack: Attack, honest: dict[str, int]) -> Callable[[Request], Reply]:
    """Return a script that grades by key words, unless it sees the orders of `attack`.

    Then the passage with the orders gets 5, every other 1.
    """

    def script(request: Request) -> Reply:
        entries = []
        passages = [(label, body) for _, label, body in _FENCE.findall(request.last)]
        captured = bool(obeyed(request.last, [attack]))
        for label, body in passages:
            if captured:
                score = 5 if obeyed(body, [attack]) else 1
            else:
                score = next((value for key, value in honest.items() if key in body), 1)
            strips = [int(number) for number in re.findall(r"^\[(\d+)\]", body, re.M)]
            entry = {"id": label, "reason": "", "score": score, "strips": strips}
            entries.append(entry)
        if '"id": "P1"' not in request.last:
            entry = entries[0]
            return as_json(entry | {"score": (entry["score"] - 1) / 4})
        query = "evil advertisement" if captured else "ferry Lund timetable"
        return as_json({"passages": entries, "web_queries": [query]})

    return script


def generator(attack: Attack, answer: str) -> Callable[[Request], Reply]:
    """Return a script that gives `answer`, unless it sees the orders of `attack`."""

    def script(request: Request) -> Reply:
        return Reply(content=HACKED if obeyed(request.prompt, [attack]) else answer)

    return script
