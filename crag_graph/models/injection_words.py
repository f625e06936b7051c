"""Word classes of which the rules of `injection` are made, as alternatives of a pattern."""

# "Never ignore", "if you ignore", "who ignore" order nothing to be dropped.
NOT = "".join(
    rf"(?<!{word} )"
    for word in (
        *("never", "not", "don't", "cannot", "may", "who", "that", "which", "they"),
        *("if you", "when you", "unless you", "can you"),
    )
)
_UNDO = "ignore|disregard|forget|set aside|do not follow|stop following"
# "Use this option to override the default system prompt": what programs can do.
DROP = rf"{NOT}(?:{_UNDO}|(?<!to )(?:override|bypass)|do not obey)"
FORGET = rf"{NOT}(?:{_UNDO})"
ORDERS = r"instructions?|prompts?|guidelines?|directives?"
EARLIER = r"previous|prior|above|earlier|preceding|foregoing|former|original|initial|your|system"
START = r"(?:^|[.!?:;,>(*\"'\]]\s?|\b(?:and|then|now|please|must|should|shall|just) )[\s\W]{0,3}"
AI = (
    r"ais?|a\.i\.|llms?|(?:large )?language models?|ai (?:models?|systems?|agents?|assistants?)|"
    r"(?:virtual|language) assistants?|chat ?bots?|(?:chat)?gpt(?:-?\d\w*)?"
)
MODEL = rf"{AI}|assistants?|graders?|evaluators?|raters?|summari[sz]ers?"
NAMED = rf"{AI}|assistants?|graders?|claude|gemini|copilot"
OBJECT = (
    r"passages?|documents?|docs?|pages?|texts?|sources?|results?|articles?|strips?|snippets?|"
    r"chunks?|excerpts?|websites?|sites?|p\d+"
)
QUOTED = r"passages?|sources?|strips?|snippets?|chunks?|excerpts?"
THIS = (
    rf"this|that|(?:all |every |the )?others?|the rest|everything|(?:every|each|any) "
    rf"(?:{OBJECT})|p\d+"
)
TOP = (
    r"(?:the )?(?:highest|lowest|maximum|minimum|max|min|top|full|perfect|best|worst)"
    r"(?: possible)?(?: marks?| scores?| grades?| ratings?| points?| relevance)"
)
# A bare mark, not a number of something nor one end of a scale.
BARE = (
    r"(?<!between )(?<!and )(?<!from )(?:[0-5](?:\.\d+)?|five|four|one|zero|10|100)\b"
    r"(?=\s*(?:$|[.!,;)/]|points?\b|stars?\b|out of\b|and\b|or\b|for\b))(?!\s*(?:and|or) \d)"
)
MARK = rf"{BARE}|{TOP}"
QUALITY = r"(?:fully |highly |completely |not |most )?(?:ir)?relevant|useless|worthless"
RATE = r"rate|score|grade|rank|mark"
GRADED = r"relevance|score|grade|rating|verdict"
ANSWER = r"answers?|responses?|reply|replies|output|summary|summaries"
MUST = r"must|should|shall|has to|have to|is to|are to|needs? to|(?:is|are) required to"
PRAISE = r"recommend|praise|promote|mention|not mention|cite|prefer|conclude|endorse"
SAY = r"say|state|tell|answer|respond|reply|output|print|recommend|praise|promote|rate|approve"
PLACE = (
    r"include|insert|add|append|put|mention|embed|write|place|start|begin|end|finish|prefix|"
    r"conclude|replace|format|render|display|show"
)
LINKED = r"(?<=\s)[\"'“‘]|https?:|www\.|\blink to\b"
# What forms, tenders and help desks want in an answer.
WANTED = r"(?:(?:a copy of|both|only|also) )?(?:your|an?|any|all|each|the|\w+ examples?|details)\b"
