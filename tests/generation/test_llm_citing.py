"""A small model forgets over the sources to cite them: seen with Qwen2.5-Coder-1.5B."""

import pytest

from crag_graph.prompting import Prompts


@pytest.mark.parametrize("action", ["correct", "ambiguous", "incorrect"])
def test_the_last_words_that_a_model_reads_ask_for_citations(action: str):
    values = {"question": "When?", "evidence": "It leaves at nine.", "fence": "f", "today": "t"}
    *_, last = Prompts().load(f"answer_{action}").render(**values)
    assert str(last.content).endswith("after each sentence, like [1].")
