"""What a reply must hold, and how it is read."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Form(Generic[T]):
    """What a reply must hold, and how it is read.

    Attributes:
        name: A name that tools may have: letters and underscores.
        description: One sentence that says what it is.
        properties: JSON Schema of the properties, all of them required; without bounds.
        example: A form that is shown to the model, since servers may ignore schemas.
        wanted: What the example does not show of the form, as the end of a clause.
        read: Takes a JSON value; raises ValueError, whose text the model is told, when it is of
            no use.
        read_text: The same for a reply that holds no JSON.
    """

    name: str
    description: str
    properties: Mapping[str, Any]
    example: Mapping[str, Any]
    read: Callable[[Any], T]
    read_text: Callable[[str], T]
    wanted: str = ""

    @property
    def schema(self) -> dict[str, Any]:
        """The schema as it is sent: closed, everything required, as strict modes want it."""
        return {
            "title": self.name,
            "description": self.description,
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.properties),
            "additionalProperties": False,
        }

    @property
    def instruction(self) -> str:
        """The words that ask for it."""
        form = json.dumps(self.example, ensure_ascii=False)
        ending = f", {self.wanted}" if self.wanted else ""
        return f"Answer with one JSON object of this form and nothing else{ending}:\n{form}"
