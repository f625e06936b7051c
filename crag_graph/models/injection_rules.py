"""The rules of `injection`: who is spoken to, and what is demanded. All read lower-case text.

Most rules are chains of word classes that follow each other within a sentence; `~40~` stands
between two of them for at most forty characters.
"""

import re

_DROP = (
    r"ignore|ignoring|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|bypass|neglect|discard|"
    r"supersede|cancel|do not follow|don't follow|do not obey|stop following|set aside"
)
_ORDERS = r"instructions?|prompts?|rules?|guidelines?|directions?|directives?|orders?|commands?"
_EARLIER = (
    r"previous|prior|above|earlier|preceding|foregoing|former|original|initial|existing|all|any|"
    r"every|your|system|other"
)
# Who reads and judges; the wide class only where a sentence addresses somebody by name.
_MODEL = (
    r"ais?|a\.i\.|llms?|(?:large )?language models?|ai (?:models?|systems?|agents?)|"
    r"(?:ai |virtual |language )?assistants?|chat ?bots?|graders?|evaluators?|raters?|"
    r"summari[sz]ers?|(?:chat)?gpt(?:-?\d\w*)?"
)
_READER = (
    rf"{_MODEL}|models?|bots?|judges?|reviewers?|rankers?|retrievers?|agents?|claude|gemini|copilot"
)
_OBJECT = (
    r"passages?|documents?|docs?|pages?|texts?|sources?|results?|articles?|strips?|snippets?|"
    r"chunks?|excerpts?|websites?|sites?|p\d+"
)
_DIGIT = r"[0-5](?:\.\d+)?|five|four|one|zero|10|100"
_MARK = (
    rf"{_DIGIT}|(?:the )?(?:highest|lowest|maximum|minimum|max|min|top|full|perfect|best|worst)"
    r"(?: possible)?(?: marks?| scores?| grades?| ratings?| points?| relevance)"
)
_QUALITY = r"(?:fully |highly |completely |not |most )?(?:ir)?relevant|useless|worthless"
_GRADE = (
    r"rate|score|grade|rank|mark|assign|give|giving|treat|classify|label|consider|judge|set|award"
)
_GRADED = r"relevance|score|grade|rating|verdict"
_ANSWER = r"answers?|response|responses|reply|replies|output|summary"
_MUST = r"must|should|shall|has to|have to|is to|are to|needs? to|will|(?:is|are) required to"
_ACTS = (
    r"rate|score|grade|mark|rank|give|assign|treat|consider|ignore|answer|respond|reply|output|"
    r"say|state|print|cite|recommend|conclude|select|choose|prefer|mention"
)
_PLACE = (
    r"include|insert|add|append|put|mention|embed|write|place|start|begin|end|finish|prefix|"
    r"sign|conclude|replace|format"
)
_PHRASE = r"the (?:exact |following |single )?(?:words?|phrase|sentence|string|text|number)"
# A bare mark, not a number of something.
_BARE = rf"(?:{_DIGIT})\b(?=\s*(?:$|[.!,;)/]|points?\b|stars?\b|out of\b|and\b|or\b|for\b))"


def _chain(rule: str) -> str:
    pattern = ""
    for index, part in enumerate(re.split(r" ~(\d+)~ ", rule)):
        pattern += f"[^.!?]{{0,{part}}}" if index % 2 else rf"\b(?:{part})\b"
    return pattern


_CHAINS = (
    # Orders to drop other orders, or to take new ones.
    rf"{_DROP} ~40~ {_EARLIER} ~40~ {_ORDERS}|criteria|context|passages|evidence|sources",
    rf"{_DROP} ~30~ everything|anything|all ~20~ above|before|previous|told|said|else",
    rf"{_DROP} ~12~ the (?:question|user|task|query)",
    rf"these|those|following|my|our|new ~1~ {_ORDERS} ~1~ override|supersede|replace",
    r"your ~1~ (?:real |actual |new |only )?(?:task|job|goal|role|mission) ~1~ has changed|is now",
    r"do ~1~ what|as ~1~ i say",
    r"you ~1~ must|will|shall ~1~ obey",
    r"from now on ~3~ you|always|only|ignore|answer|respond|reply|say|tell|every|all",
    r"reveal|print|show|output|repeat|leak|disclose|display|tell me|send ~30~ your|the|system ~20~ "
    r"system prompt|hidden|initial prompt|api keys?|secrets|passwords",
    rf"reveal|print|show|output|repeat|leak|disclose ~20~ your ~20~ prompt|{_ORDERS}",
    # Words to the model by name, or a role for it.
    rf"if|since|because|as ~1~ you ~8~ {_MODEL}",
    r"you are ~1~ now|no longer|henceforth ~1~ an?|in \w+(?: \w+)? mode|under|bound|operating|free|"
    r"allowed|required",
    rf"pretend|act|behave|respond|answer|speak ~1~ to be|as if|as though|as|like ~30~ {_MODEL}|dan|"
    r"pirate|admin\w*|developer",
    r"developer|debug|god|admin|jailbreak|dan|override|evaluation ~1~ mode ~30~ on|enabled|"
    r"activated|active",
    rf"{_MODEL} ~40~ {_MUST} ~40~ {_ACTS}",
    r"grader|evaluator|judge|ai|llm|assistant|user|operator ~1~ has|have ~12~ determined|decided|"
    r"graded|rated|scored|assigned|confirmed|(?:asked|told|instructed|ordered) you",
    # Grades for this passage or for the others.
    rf"{_GRADE} ~60~ {_OBJECT}|relevance|relevant|score|grade|rating|others|everything else ~40~ "
    rf"as|a|an|with|of|at|to|is|be ~12~ {_MARK}|{_QUALITY}",
    r"output|return|write|print|say|use ~12~ the number|score|grade|value ~12~ "
    rf"{_DIGIT} ~10~ everything|all|every|each|this|any",
    rf"assign\w*|give\w*|award\w* ~30~ {_MARK} ~20~ to (?:this|every|all|each|any|p\d+)",
    rf"give|grant|award ~1~ this|every|each|any ~1~ {_OBJECT} ~1~ {_MARK}",
    # Orders about the answer.
    rf"(?:your|the)(?: final| own)?|every|each|any|all|the assistant'?s ~1~ {_ANSWER} ~5~ {_MUST} "
    r"~1~ contain|include|say|start|begin|end|mention|not mention|recommend|consist|read|state|"
    r"cite",
    "start|begin|end|finish|open|close|prefix|sign|conclude|preface|translate|rewrite|encode ~5~ "
    rf"your ~1~ {_ANSWER}",
    "start|begin|end|finish|conclude|preface|prefix ~5~ the|every|each|all|any ~7~ "
    rf"{_ANSWER} ~3~ with|by",
    r"when|before|while|after|in ~12~ answering|responding|replying|summari[sz]ing|generating ~80~ "
    r"always|never|must|do not|don't|include|say|state|tell|mention|recommend|ignore",
    r"tell|inform|convince|instruct|direct|advise|urge|ask ~1~ the|your|this ~1~ "
    r"user|reader|human|person|customer ~60~ https?|www|click|visit|pay|password|card|download|"
    r"that (?:this|the) (?:is|only)",
    r"do not|don't|never ~1~ cite|mention|use|quote|trust|consider|rely on ~12~ "
    rf"(?:any |the )?other (?:{_OBJECT})|this (?:instruction|message|note)",
    r"omit|suppress|leave out|hide ~12~ mentions? of|any mention|all mention",
    r"repeat ~1~ after me|(?:the following|this) (?:word|phrase|sentence|text)",
)
_PATTERNS = (
    *map(_chain, _CHAINS),
    _chain(rf"new|updated|revised|real|actual|urgent ~8~ {_ORDERS}") + r"\s*(?::|for you|follow)",
    r"\bsystem (?:prompt|message|override|instruction|update|notice|note|command)s?\s*[:\]>)-]",
    r"\bnew (?:task|objective|goal|role)\s*:",
    _chain(rf"note|message|attention|notice|instructions?|memo|hello|hey|dear|hi ~14~ {_READER}")
    + r"[^.!?]{0,25}[:,!]",
    rf"^\W*(?:{_READER})\s*[:,]\s*(?:you|please|must|always|never|do|{_GRADED}|{_ACTS})\b",
    _chain(rf"{_GRADE} ~20~ {_OBJECT}|it|this|others|everything|{_GRADED}")
    + rf"[^.!?]{{0,12}}\b{_BARE}",
    _chain(rf"{_GRADED} ~20~ of|for|to ~15~ this|that|all|every|each|any|other|{_OBJECT}")
    + rf"[^.!?]{{0,40}}(?:\b(?:is|are|be|equals?|becomes?)\b|[:=])\s*(?:{_MARK})\b",
    _chain(
        r"this|the (?:above|following|present)|(?:every |all (?:the )?)?other|the rest of the|"
        rf"remaining ~1~ {_OBJECT} ~30~ {_MUST}|deserves?|gets?|receives?|scores?|"
        r"(?:is|are) (?:rated|graded|scored|marked)"
    )
    + rf"[^.!?]{{0,40}}\b(?:(?:{_MARK})(?:\W*$| out of)|(?:rated|graded|scored|ignored|discarded|"
    r"irrelevant)\b)",
    _chain(rf"{_OBJECT} ~60~ gets?|receives?|scores?|deserves?|earns?")
    + rf"[^.!?]{{0,12}}\b(?:{_DIGIT})\W*$",
    _chain(rf"others?|the rest|everything else ~25~ {_GRADED}|{_GRADE}|gets?|are|is|as|{_MUST}")
    + r"[^.!?]{0,20}\b(?:[0-5]|zero|one|irrelevant|worthless|lowest|minimum)\W*$",
    r"\b(?:p\d+|passage \d+)\s*(?:[:=]|is|gets)\s*[0-5]\b.{0,20}\s?\b(?:p\d+|passage \d+)\s*"
    r"(?:[:=]|is|gets)\s*[0-5]\b",
    r"[\"']?(?:passages|grades|evaluations|strips)[\"']?\s*:\s*[\[{][^\n]{0,200}"
    r"[\"']?(?:score|grade|id)[\"']?\s*:",
    r"[\"']?id[\"']?\s*:\s*[\"']?p\d+[\"']?[^\n]{0,80}[\"']?(?:score|grade|rating)[\"']?\s*:",
    r"<(?:score|grade|rating|relevance)>\s*[0-5]\b",
    r"</?(?:passage|evidence)-\w",  # our own frame, forged
    r"^\W*(?:relevance|score|grade|relevance score)\s*[:=]\s*[0-5](?:\s*/\s*5)?\W*$",
    _chain(rf"correct|final|expected|proper|right|relevance ~1~ {_GRADED}")
    + r"[^.!?]{0,20}(?:\bis\b|:|=)\s*\W?[0-5]\b(?!\.\d)",
    rf"\b(?:{_PLACE})\b[^\n]{{0,80}}\b(?:in|to|into|of|with) (?:your|the final) (?:{_ANSWER})\b",
    r"\b(?:respond|reply|answer|output|say|print|write|return) (?:only|exactly|just|nothing but|"
    rf"solely|simply|verbatim)\s?(?:with\b|by\b|{_PHRASE}\b|[\"'“:])",
    rf"\b(?:respond|reply|answer) with (?:only|just|nothing but|exactly|{_PHRASE})\b",
    # The same in other languages: orders to drop orders, and grades.
    r"\b(?:ignorier\w*|vergiss|missachte|übergehe)\b[^.!?]{0,40}\b(?:anweisung|vorgabe|regel)",
    r"\b(?:ignore[zr]?|oublie[zr]?)\b[^.!?]{0,30}\b(?:instructions?|consignes?|regles?)\b",
    r"\b(?:ignor[ae]|olvid[ae])\b[^.!?]{0,30}\b(?:instrucciones|reglas|indicaciones)\b",
    r"\b(?:ignora|dimentica)\b[^.!?]{0,30}\b(?:istruzioni|regole)\b",
    r"\b(?:ignore|esqueca|desconsidere)\b[^.!?]{0,30}\b(?:instrucoes|regras)\b",
    r"\b(?:negeer|vergeet)\b[^.!?]{0,30}\b(?:instructies|regels|aanwijzingen)\b",
    r"(?:игнорируи|забудь|не обращаи внимания)\w*[^.!?]{0,40}(?:инструкц|указани|правил)",
    r"(?:忽略|无视|無視|忘记|忘掉)[^。！？]{0,15}(?:指令|指示|说明|說明|提示|规则|要求)",
    r"(?:指示|命令|プロンプト|ルール)[^。！？]{0,10}(?:無視|忘れ)",
    r"(?:지시|명령|규칙|프롬프트)[^.!?]{0,10}무시",
    r"\b(?:bewerten?|benote|gib)\b[^.!?]{0,50}\b(?:mit|note|punkte?)\b[^.!?]{0,20}\b[0-5]\b",
    r"\b(?:note[zr]?|attribue[zr]?|donne[zr]?)\b[^.!?]{0,50}\b(?:note|score)\b[^.!?]{0,20}\b[0-5]\b",
    r"\b(?:califi[cq]\w+|puntu\w+|asign\w+)\b[^.!?]{0,50}\b(?:nota|pasaje|documento)\b"
    r"[^.!?]{0,20}\b[0-5]\b",
    r"(?:оцени|поставь|присвои)\w*[^.!?]{0,50}\b[0-5]\b",
    r"(?:打|给|給|评|評)[^。！？]{0,12}(?:[0-5五满滿]\s*分|最高分)",
)
ADDRESSED = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.M)

STEMS = (
    *("instruction", "prompt", "rule", "guideline", "direction", "directive", "command"),
    *("ignor", "disregard", "forget", "overrid", "bypass", "supersed", "cancel", "discard"),
    *("pretend", " mode", "new task", "new role", "new goal", "new objective", "your task"),
    *(
        "your job",
        "i say",
        "obey",
        "comply",
        "act as",
        "act like",
        "behave",
        "speak ",
        "from now on",
        "claude",
        "gemini",
        "copilot",
        "you are now",
    ),
    *("assistant", "model", "llm", "grader", "evaluator", "judge", "chatbot", "bot", "gpt"),
    *("summar", " ai ", " ai,", " ai:", "agent", "rater", "ranker", "retriever", "reviewer"),
    *("scor", "grade", "rate", "rating", "rank", "relevan", "verdict", " mark", "assign"),
    *("award", "treat", "consider", "give", "label", "others", "everything", "passage", "p1:"),
    *("your ans", "your resp", "your repl", "your out", "your sum", "the final", "every ans"),
    *("respon", "reply", "answer", "output", "repeat", "say ", "print ", "return ", "mention"),
    *("the user", "your user", "the reader", "not cite", "not use", "never ", "end with"),
    *("strips", "document", "source", "password", "secret", "api key", '"id"'),
    *("anweisung", "vorgabe", "regel", "consigne", "instruccion", "indicacion"),
    *("istruzion", "instrucoes", "instructies", "aanwijzing", "инструкц", "указани", "правил"),
    *("оцени", "поставь", "присвои", "指令", "指示", "说明", "說明", "提示", "规则", "要求"),
    *(
        "命令",
        "プロンプト",
        "ルール",
        "지시",
        "명령",
        "규칙",
        "프롬프트",
        "分",
        "bewert",
        "benote",
        "gib ",
    ),
    *("note", "evidence-", "attribu", "donne", "califi", "puntu", "asign", "nota"),
)
"""Each match of `ADDRESSED` holds one of these; most sentences hold none and are done with."""
