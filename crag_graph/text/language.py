"""Telling the language of a text by its script and function words, without a model."""

import re
import unicodedata
from collections import Counter

import regex

_FUNCTION_WORDS = {
    "en": """a about above after again against all also am an and any are as at be because been
        before being below between both but by can could did do does doing down during each either
        else ever few for from further had has have having he her here hers him his how however i
        if in into is it its just many may me might more most much must my neither no nor not of
        off on once only or other our ours out over own please same shall she should so some such
        tell than that the their theirs them then there these they this those through to too under
        until up upon us very was we were what whatever when where whether which while who whom
        whose why will with within without would yet you your yours""",
    "de": """aber alle als also am an auch auf aus bei beim bin bis bitte da damit dann das dass
        dem den denn der des die dies diese diesem diesen dieser dieses du durch ein eine einem
        einen einer eines er es etwas euch euer für gegen hat hatte haben hier ich ihm ihn ihr
        ihre im in ins ist ja jede jeder kann kein keine man mein mich mir mit nach nicht noch nur
        ob oder ohne sehr sein seine sich sie sind so sondern über um und uns unser unter vom von
        vor wann war waren warum was weil welche welcher welches wenn wer werden wie wir wird wo
        wohin wurde wurden zu zum zur zwischen""",
    "fr": """à alors après au aucun aussi autre aux avant avec avoir bien ce ceci cela ces cet
        cette chez comme comment contre dans de depuis des donc dont du elle elles en encore entre
        est et été être eux fait ici il ils je la le les leur leurs lui ma mais me même mes moi
        mon ne nos notre nous on ont ou où par pas pendant peu plus pour pourquoi qu quand que
        quel quelle quelles quels qui quoi sa sans se selon ses si son sont sous sur ta te tes toi
        ton tous tout toute très tu un une vos votre vous y""",
    "es": """a al algo ante antes aquel aquí así aún aunque bajo bien cada como cómo con contra
        cuál cuáles cuando cuándo cuánto de del desde donde dónde durante e el él ella ellas ellos
        en entre era es esa ese eso esta está están este esto estos fue ha hacia han hasta hay la
        las le les lo los más me mi mientras muy nada ni no nos o otra otro para pero poco por
        porque pues que qué quien quién se según ser si sí sin sobre son su sus también tan te
        tiene todo tu un una unas uno unos y ya yo""",
    "it": """a ad ai al alla alle agli allo anche ancora che chi ci come con contro cosa da dagli
        dai dal dalla dalle degli dei del della delle dello di dopo dove e ed era essere fino fra
        gli ha hanno i il in io la le lei lo loro lui ma mi mia mio ne nei nel nella nelle non
        nostro o ogni per perché più poi prima qual quale quali quando quanto questa queste questi
        questo qui se sei senza si sia sono su sua sue sugli sui sul sulla suo tra tu tutti tutto
        un una uno vi voi""",
    "pt": """à ao aos as às até com como contra da das de dela dele depois do dos e é ela elas
        ele eles em entre era essa esse esta está este eu foi foram há isso isto já lhe mais mas
        me mesmo meu minha muito na não nas nem no nos nós nossa nosso num numa o onde os ou para
        pela pelas pelo pelos por porque qual quais quando quanto que quem são se sem ser seu seus
        só sobre sua suas também te tem um uma você""",
    "nl": """aan al alle als bij dan dat de der deze die dit doch doen door dus een en er ge geen
        haar had heb heeft hem het hij hoe hun iets ik in is ja je kan kon maar me meer men met
        mij mijn moet na naar niet niets nog nu of om omdat ons ook op over te tegen toch toen tot
        u uit uw van veel voor waar waarom wanneer waren was wat welke wel wie wij wordt worden ze
        zich zij zijn zo zonder zou""",
}

# Script → the code under which `sentencex` knows a language written in it (ISO 639-1).
_SCRIPTS = {
    "CJK": "zh",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "HANGUL": "ko",
    "THAI": "th",
    "DEVANAGARI": "hi",
    "BENGALI": "bn",
    "GURMUKHI": "pa",
    "GUJARATI": "gu",
    "TAMIL": "ta",
    "TELUGU": "te",
    "KANNADA": "kn",
    "MALAYALAM": "ml",
    "ARABIC": "ar",
    "CYRILLIC": "ru",
    "GREEK": "el",
    "ARMENIAN": "hy",
    "MYANMAR": "my",
    "ETHIOPIC": "am",
}
_SAMPLE = 2000
_COMBINING = regex.compile(r"(?<=[\p{Latin}\p{Greek}])\p{Mn}+")
_LETTERS = regex.compile(r"[^\W\d_]+")
_ASCII_LETTERS = re.compile(r"[a-z]+")


def fold(word: str) -> str:
    """Return `word` in lower case and without the accents of Latin and Greek letters."""
    if word.isascii():
        return word.lower()
    return unicodedata.normalize(
        "NFC", _COMBINING.sub("", unicodedata.normalize("NFD", word.casefold()))
    )


STOP_WORDS = {
    language: frozenset(fold(word) for word in words.split())
    for language, words in _FUNCTION_WORDS.items()
}

# Function word → the languages that have it.
_LANGUAGES_OF = {
    word: tuple(language for language, words in STOP_WORDS.items() if word in words)
    for word in frozenset().union(*STOP_WORDS.values())
}


def detect_language(text: str) -> str:
    """Return the ISO 639-1 code of the language that `text` is probably in.

    The most frequent script decides; among languages in Latin letters the one whose function words
    are the most frequent (`en`, `de`, `fr`, `es`, `it`, `pt`, `nl`), and `en` when none is. Kana
    make a text with Han characters Japanese. Only the first 2,000 characters are looked at.
    """
    sample = text[:_SAMPLE]
    if not sample.isascii():
        scripts = Counter(
            unicodedata.name(character, "").partition(" ")[0]
            for character in sample
            if character.isalpha()
        )
        kana = scripts["HIRAGANA"] + scripts["KATAKANA"]
        if kana and 10 * kana >= scripts["CJK"]:
            scripts["HIRAGANA"] = kana + scripts.pop("CJK", 0)
        if scripts and (script := scripts.most_common(1)[0][0]) in _SCRIPTS:
            return _SCRIPTS[script]
        words = [fold(word) for word in _LETTERS.findall(sample)]
    else:
        words = _ASCII_LETTERS.findall(sample.lower())
    counts = dict.fromkeys(STOP_WORDS, 0)
    for word in words:
        for language in _LANGUAGES_OF.get(word, ()):
            counts[language] += 1
    return max(counts, key=counts.__getitem__)
