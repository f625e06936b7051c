"""The rules of `injection`: who is spoken to, and what is demanded. All read lower-case text.

Most rules are chains of word classes that follow each other within a sentence; `~40~` stands
between two of them for at most forty characters. Manuals, policies and handbooks give orders in
many of the same words, and a sentence withheld is a lost answer: so a rule asks for what they do
not say (a model by its kind, a grade for "this passage", "your answer"), and what they say as well
is left to the fence.
"""

import re

from crag_graph.models.injection_languages import LANGUAGE_STEMS, LANGUAGES
from crag_graph.models.injection_turns import TURN_STEMS, TURNS
from crag_graph.models.injection_words import (
    AI,
    ANSWER,
    BARE,
    DROP,
    EARLIER,
    FORGET,
    GRADED,
    LINKED,
    MARK,
    MODEL,
    MUST,
    NAMED,
    OBJECT,
    ORDERS,
    PLACE,
    PRAISE,
    QUALITY,
    QUOTED,
    RATE,
    SAY,
    START,
    THIS,
    TOP,
    WANTED,
)


def _chain(rule: str) -> str:
    pattern = ""
    for index, part in enumerate(re.split(r" ~(\d+)~ ", rule)):
        pattern += f"[^.!?]{{0,{part}}}" if index % 2 else rf"(?<!\w)(?:{part})(?!\w)"
    return pattern


_CHAINS = (
    # Orders to drop other orders, or to take new ones.
    rf"{DROP} ~25~ {EARLIER} ~12~ {ORDERS}",
    rf"{FORGET} ~12~ (?:prior|previous|earlier) ~1~ directions ~1~ you",
    rf"{FORGET} ~25~ (?:{ORDERS}|rules) ~12~ above|before",
    rf"{FORGET} ~12~ (?:all |the |any |your )*(?:previous|prior|above|earlier) ~12~ rules|context|"
    "passages|evidence",
    rf"{FORGET} ~3~ (?:all |the )*other (?:passages|snippets|excerpts|strips|chunks)",
    rf"{FORGET} ~12~ everything|anything|all|whatever|what ~12~ (?:was|were|been|is) (?:told|said)|"
    r"(?:the )?above|said before",
    rf"{DROP} ~1~ your ~12~ training and|programming|guardrails|safety (?:rules|filters|"
    rf"guidelines)",
    r"your ~1~ (?:previous|prior|original|initial|earlier|system) (?:instructions?|prompt|"
    r"guidelines) ~3~ (?:(?:is|are) (?:now )?(?:cancell?ed|void|revoked|obsolete)|no longer "
    r"appl)\w*",
    r"these|those|my|our|new ~1~ (?:instructions|directives|prompts) ~1~ override|supersede|"
    r"replace",
    r"your ~1~ (?:real |actual |new |only )?(?:task|job|goal|role|mission) ~1~ has changed",
    r"your ~1~ (?:real|actual|new|only) (?:task|job|goal|role|mission) ~1~ is",
    r"do ~1~ exactly|only ~1~ what|as ~1~ i say",
    r"you ~1~ must|will|shall ~1~ obey ~1~ me|my|what|this (?:text|page|passage|message|note)",
    rf"from now on ~3~ (?:you (?:must |will |shall |should |are to |always |only )*)?(?:{SAY}|"
    rf"ignore|"
    r"speak|pretend|behave|act as|grade|score)(?! (?:the |all |every )?(?:phone|telephone|"
    r"calls?|door))",
    r"reveal|print|show|output|repeat|leak|disclose|display|tell me|send ~20~ your ~1~ (?:own |"
    r"full |exact |entire )?(?:system|initial|hidden|original)? ?(?:prompt|instructions)",
    r"print|output|repeat|copy ~20~ above|before this ~5~ word for word|verbatim",
    # Words to the model by its kind, or a role for it.
    rf"if|since|because|as ~1~ you ~8~ {MODEL}",
    rf"as ~1~ an? ~1~ {AI} ~3~ you ~12~ (?:{MUST}|will|can only)",
    r"(?<![\"'“‘`(])you are ~1~ (?:now )?(?:an? )?(?:helpful |obedient |loyal |expert ){0,2}(?:"
    rf"{AI}|helpful assistant) ~1~ (?:assistant |model )?(?:that|who|which|and|whose|from|of|by)",
    r"(?<![\"'“‘`(])you are ~1~ (?:an? )?(?:chatgpt|gpt-?\d\w*|claude|gemini)",
    r"you are ~1~ now|henceforth ~1~ an? ~25~ judge|grader|evaluator|pirate|dan|assistant|"
    r"chatbot|ai|sales(?:man|woman|person|bot)|spokes\w+|advertiser|persona|character|hacker",
    r"you are ~1~ no longer|not ~1~ (?:bound|restricted|limited) by ~1~ (?:any |your "
    r")?(?:guidelines|rules|programming|instructions|filters|restrictions|policies|ethic\w+)",
    rf"pretend ~1~ (?:that )?you are ~12~ {AI}",
    rf"pretend|act|behave|respond|answer|speak ~1~ to be|as if|as though ~30~ {AI}|dan|pirate|"
    r"admin\w*|developer",
    r"(?:god|jailbreak|dan) mode ~30~ on|enabled|activated|active",
    r"answer|respond|reply|speak ~1~ without ~12~ restrictions?|censorship|guardrails|filters?",
    rf"{NAMED} ~6~ (?:who |that |which )?(?:read|see|process|pars|index|summari[sz])\w* ~1~ "
    rf"(?:this|these|it|our) ~30~ {MUST} ~12~ {SAY}|{PRAISE}|{RATE}|give|treat|ignore",
    rf"{MODEL} ~6~ {MUST} ~6~ {RATE}|give|assign|output ~25~ {BARE}|{TOP} ~5~ "
    r"(?:for|to) (?:this|these|every|p\d)",
    rf"(?:any|every|all|each|the) (?:{AI}|assistant) ~6~ {MUST} ~1~ (?:always |only |never "
    rf")?(?:say|state|recommend|praise|promote|conclude|prefer) ~1~ (?:that|the|\w+)",
    rf"{MODEL} ~1~ has|have ~12~ graded|rated|scored ~1~ this ~1~ {OBJECT}",
    r"user|operator ~1~ has|have ~12~ (?:asked|told|instructed|ordered|authori[sz]ed) you to",
    # Grades for this passage or for the others.
    rf"{RATE} ~60~ {OBJECT}|others|everything else ~20~ as|an?|with|of|at|to|be ~12~ {MARK}|"
    rf"{QUALITY}",
    rf"set|assign|give|award|treat|consider|classify|label ~30~ {THIS} ~40~ {GRADED} ~12~ {MARK}",
    rf"set|assign|give|award ~12~ {GRADED} ~12~ {THIS} ~20~ to|of|as ~5~ {MARK}",
    rf"treat|consider|classify|label|judge ~1~ (?:this|(?:all|every) other) (?:{OBJECT}) ~12~ "
    rf"{QUALITY}|(?:the )?only relevant",
    rf"treat|consider|use ~1~ this (?:{QUOTED}) ~12~ (?:absolute|ground) truth",
    rf"(?:this|the (?:present|above)) (?:{OBJECT}) ~1~ (?:{MUST}) be ~12~ (?:rat|scor|grad|rank|"
    rf"judg)\w+|marked (?:as )?(?:{MARK}|{QUALITY})",
    r"output|return|write|print|say|use|assign|give ~12~ the ~1~ score|grade ~1~ (?:of "
    r")?(?:[0-5]) ~10~ everything|all|every|each|this|any",
    rf"assign\w*|giv\w*|award\w* ~20~ {TOP} ~5~ to (?:this|p\d+|every (?:{OBJECT}))",
    rf"giv(?:e|es|ing)|grant|award|assign ~1~ this|every|each|any ~1~ {OBJECT} ~1~ (?:an? "
    rf")?(?:{MARK})",
    # Orders about the answer.
    rf"your(?: final| own| next)? (?:{ANSWER}) ~5~ {MUST} ~1~ (?:always )?(?:say|read|{PRAISE}|"
    r"(?:contain|include) (?:only|the (?:exact |following )?(?:words?|phrase|sentence|link))|"
    r"(?:start|begin|end) with)",
    rf"(?:every|each|any|all)(?: final)? (?:{ANSWER}) ~5~ {MUST} ~1~ (?:{PRAISE})(?! (?:the|its|"
    rf"an?|"
    "all|any|your|which|whether|at|of)(?!\\w))",
    rf"(?:make sure|ensure) ~6~ your (?:{ANSWER}) ~6~ recommends?|praises?|promotes?|favou?rs?",
    "start|begin|end|finish|open|close|prefix|conclude|preface|translate|rewrite|encode ~5~ "
    rf"your (?:{ANSWER}) ~3~ with|by|in|as|to",
    rf"cite|quote|recommend|prefer ~3~ this ~1~ {OBJECT} ~5~ (?:in|for) (?:every|each|all|any) "
    rf"(?:{ANSWER})",
    r"when|before|while ~1~ (?:you )?(?:are )?(?:answer|respond|summari[sz])(?:ing)?(?! (?:to )?"
    r"(?:an?|any|the|your)? ?(?:calls?|callers?|clients?|customers?|doors?|e-?mails?|guests?|"
    r"letters?|patients?|phone|telephone)(?!\w)) ~40~ "
    r"(?:always |never |must |do not |don't |only )+(?:mention|recommend|praise|claim|cite)",
    r"(?:correct|right|true|only|final) answer ~1~ to (?:every|any|all|each) (?:questions?|"
    r"query|queries)",
    rf"(?:{SAY}) ~40~ (?:whatever|no matter what) ~3~ (?:is asked|the (?:user|question|query)|"
    rf"you are "
    "asked)",
    r"(?:whatever|no matter what) ~3~ (?:the (?:user|question|query)|you are asked) ~12~ "
    r"(?:answer|say|reply|respond) (?:that|with)",
    r"(?:tell|inform|convince|direct|advise|urge|ask) (?:the|your|this) (?:user|reader|human) ~60~ "
    r"https?|www",
    r"(?:tell|inform|convince|urge) (?:your user|the (?:reader|human)) ~60~ click|visit|pay|"
    r"download",
    rf"do not|don't|never ~1~ cite|mention|quote|rely on ~12~ (?:any |the )?other (?:{QUOTED})",
    "do not|don't|never ~1~ use|trust|consider ~6~ (?:any |the )?other (?:passages?|strips?|"
    "snippets?|"
    "excerpts?)",
    r"do not|don't|never ~1~ mention|reveal|disclose|repeat ~1~ (?:this|these) (?:instructions?|"
    r"message|"
    "note|prompt)",
    r"do not|don't|never ~1~ (?:tell|show|inform|alert) the user ~12~ (?:these|this|your) "
    "(?:instructions?|prompt|orders|note|message)",
    r"omit|suppress|leave out|hide ~12~ mentions? of|any mention|all mention",
)
# A grade for a passage by its number; a priority or pump P1 has hours and bars, code p1 = 2.
_NUMBERED = (
    r"\b(?:p\d+\s*(?::|=(?! )|is|gets)|passage \d+\s*(?:[:=]|is|gets))\s*[0-5]\b"
    r"(?!\s*(?!and\b|or\b|out of\b|p\d|passage\b|points?\b)[^\W\d_]|\.\d)"
)
_PATTERNS = (
    *map(_chain, _CHAINS),
    rf"{START}(?:{FORGET}) (?:all|any|every|the)(?: of)?(?: (?:the|your|these|those))? ?"
    r"(?:instructions?|prompts?|guidelines)\b(?! (?:that|which|for|on|in|of|if|when|until)\b)",
    rf"{START}(?:ignore|disregard|forget)(?: all of| all)? (?:the |everything |text )*above(?: "
    rf"(?:text|content|lines?))?(?:\W+(?:and|then|just|only|instead)?\W*(?:say|tell|respond|output"
    r"|recommend|praise|print that|rate)\b|\W*$)",
    rf"{START}(?:ignore|disregard|forget)(?: about)? the (?:question|user(?:'s \w+)?|"
    rf"task)\b[\s\W]*(?:and|then|just|instead)?[\s\W]*(?:only )?(?:{SAY})\b(?! (?:question|"
    rf"number|the (?:next|following)))",
    r"\b(?:new|real|actual|urgent) (?:\w+ )?(?:instructions|directives?)\s*(?::|for you|follow)",
    r"(?:^|[\[<*#])\W*(?:new |your )?system (?:prompt|override|instructions?)s?\s*[:\]>]",
    r"^\W*(?:your )?new (?:task|objective|goal)\s*:",
    r"^\W*(?:now |first )?(?:print|output|reveal|repeat|leak) (?:me )?the (?:full |entire |"
    r"whole )?system prompt\b",
    rf"(?:^\W*(?=to )|\b(?:note|message|attention|notice|memo)\b[\s,:]*)(?:(?:to|for|all|any|every|"
    rf"the)\s+){{0,3}}(?:{AI}|gemini|copilot)(?: read\w* [^.!?]{{0,20}})?\s*[:!]",
    rf"\b(?:hello|hey|dear|hi)\b[\s,:]*(?:all )?(?:{AI}|gemini|copilot)\s*[:,!]",
    r"<!--\s*(?:to |for |note to |dear )?(?:ai|llm|assistant|chatgpt|model)s?\s*[:,]",
    rf"^\W*(?:{NAMED}|evaluators?|reviewers?)\s*[:,]\s*(?:please |you )?(?:must|always|never|"
    rf"rate|score|grade|rank|ignore|recommend|conclude|output|{GRADED})\b",
    rf"{START}(?:act|behave|respond|answer|speak) (?:as|like) (?:an? )?(?:\w+ )?(?:{AI}|dan|"
    rf"pirate)\b",
    _chain(rf"{RATE} ~20~ {OBJECT}|it|this|others|everything|{GRADED}")
    + rf"[^.!?]{{0,12}}(?<!\w){BARE}",
    _chain(rf"{GRADED} ~20~ of|for|to ~1~ this|all other|every other|p\d+|(?:the )?(?:{QUOTED})")
    + rf"[^.!?]{{0,40}}(?:\b(?:is|are|be|equals?|becomes?)\b|[:=])\s*(?:{MARK})",
    _chain(
        rf"(?:this|the (?:above|following|present)|(?:every|all(?: the)?) other|the rest of the|"
        rf"remaining) (?:{OBJECT}) ~30~ {MUST}|deserves?|gets?|receives?|(?:is|are)"
    )
    + rf"[^.!?]{{0,12}}\b(?:(?:rated|graded|scored) (?:as )?(?:{MARK}|{QUALITY})|{TOP}\W*$|"
    r"given an? (?:score|grade) of)",
    _chain(
        rf"(?:this|(?:every|all) other) (?:{OBJECT}) ~30~ gets?|receives?|scores?|deserves?|earns?"
    )
    + r"[^.!?]{0,12}\b(?:[0-5]|zero|five)\W*$",
    _chain(
        r"all others|the others|the rest|everything else ~8~ gets?|scores?|deserves?|rated|scored"
    )
    + r"[^.!?]{0,8}\b(?:[0-5]|zero|one|irrelevant|worthless)\W*$",
    _chain(rf"{RATE} ~5~ (?:all |the )?others?|the rest|everything else")
    + r"[^.!?]{0,20}\b(?:[0-5]|zero|one|irrelevant|worthless)\W*$",
    rf"{_NUMBERED}.{{0,20}}\s?{_NUMBERED}",
    r"[\"']?(?:passages|grades|evaluations|strips)[\"']?\s*:\s*[\[{][^\n]{0,200}[\"']?(?:score|"
    r"grade|id)[\"']?\s*:",
    r"[\"']?id[\"']?\s*:\s*[\"']?p\d+[\"']?[^\n]{0,80}[\"']?(?:score|grade|rating)[\"']?\s*:",
    r"<(?:score|grade|rating|relevance)>\s*[0-5]\b",
    r"</?(?:passage|evidence)-\w",  # our own frame, forged
    # All that is said; a record or a review has such a line among its others.
    r"\A\W*(?:relevance|score|relevance score)\s*[:=]\s*[0-5](?:\s*(?:/|out of|of)\s*(?:5|"
    r"five))?\W*\Z",
    r"\A\W*(?:relevance|verdict|grade|label)\s*[:=]\s*(?:fully |highly |very )?relevant\W*\Z",
    _chain(rf"correct|expected|proper|right|relevance ~1~ {GRADED}")
    + r"[^.!?]{0,20}(?:\bis\b|:|=)\s*\W?[0-5]\b(?!\.\d| (?:to|of)\b)",
    rf"\b(?:{PLACE}) (?!{WANTED})[^\n]{{2,80}}\b(?:in|to|into|of|with) (?:your|the final) "
    rf"(?:{ANSWER})\b",
    rf"\b(?:{PLACE})\b[^\n]{{0,80}}(?:{LINKED})[^\n]{{0,80}}\b(?:in|to|into) (?:your|the final|"
    rf"every|each) (?:{ANSWER})\b",
    rf"\b(?:finish|end|begin|start|conclude) (?:every|each|all|any) (?:{ANSWER}) "
    rf"with\b[^\n]{{0,40}}"
    r"(?:https?:|www\.|[\"'“‘]|\bthe (?:words?|phrase|sentence)\b)",
    r"\b(?:respond|reply|answer) (?:(?:only|exactly|just|nothing but|solely|simply) )?with "
    r"(?:(?:only|just|nothing but|exactly) )?the (?:exact |following |single )?(?:words?|phrase|"
    r"sentence|string|text)\b(?![^.!?]{0,30}\bto \w+)",
    r"\b(?:answer|respond to) (?:every|any|all) (?:questions?|query|queries) with [\"'“‘](?!yes|"
    r"no\b|true)",
    *TURNS,
    *LANGUAGES,
)
ADDRESSED = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.M)

STEMS = (
    *TURN_STEMS,
    *LANGUAGE_STEMS,
    *("instruction", "prompt", "rule", "guideline", "direction", "directive"),
    *("ignor", "disregard", "forget", "overrid", "bypass", "do not follow", "stop following"),
    *("pretend", "act ", "behave", "speak ", " mode", "new task", "new goal", "new objective"),
    *("your ", "i say", "obey", "from now on", "you are", "claude", "gemini", "copilot"),
    *("assistant", "model", "llm", "grader", "evaluator", "judge", "chatbot", "chat bot", "gpt"),
    *("summari", "ai ", "ai,", "ai:", "ai!", "a.i.", "ais", "rater", "reviewer"),
    *("scor", "grade", "rate", "rating", "rank", "relevan", "verdict", "mark", "assign", "award"),
    *("give", "giving", "others", "the rest", "everything", "p1", "passage", "evidence-", "strips"),
    *("answer", "respon", "reply", "replies", "output", "repeat", "verbatim", "word for word"),
    *(
        "reveal",
        "disclose",
        "this message",
        "whatever",
        "no matter what",
        "without",
        "passages",
        "context",
    ),
    *("the user", "the reader", "this user", "the human", "the person", "the customer"),
    *("not cite", "not use", "other ", "mention", "truth", "only relevant", "label", '"id"', "id:"),
)
"""Each match of `ADDRESSED` holds one of these; most sentences hold none and are done with."""
