"""The prompts of a run."""

from pydantic import BaseModel

from crag_graph.settings.knob import prompt


class PromptKnobs(BaseModel):
    """Texts in place of the package's prompt files."""

    prompt_evaluate: str = prompt("Prompt: fused grading", "evaluate.md", "evaluate")
    prompt_grade: str = prompt("Prompt: staged grading", "grade.md", "evaluate")
    prompt_grade_passage: str = prompt(
        "Prompt: grading one passage", "grade_passage.md", "evaluate"
    )
    prompt_refine: str = prompt("Prompt: staged refinement", "refine.md", "refine")
    prompt_rewrite: str = prompt("Prompt: web query", "rewrite.md", "web_search")
    prompt_answer_correct: str = prompt(
        "Prompt: answer from the corpus", "answer_correct.md", "generate"
    )
    prompt_answer_incorrect: str = prompt(
        "Prompt: answer from the web", "answer_incorrect.md", "generate"
    )
    prompt_answer_ambiguous: str = prompt(
        "Prompt: answer from both", "answer_ambiguous.md", "generate"
    )
