"""Readable text out of what search providers send: HTML, Markdown, cookie banners, block pages."""

import html

import regex

from crag_graph.text.clean import clean_text, is_blank
from crag_graph.text.sentences import sentence_spans

_HTML_DOCUMENT = regex.compile(r"(?i)^\s*<(?:!doctype|html|head|body|div|article|main|section|p)\b")
_HTML_END = regex.compile(r"(?i)</(?:html|body|article|div)>\s*$")
_MOST_HTML = 500_000  # characters; extraction takes a second for as much of nested markup
_ATTRIBUTE = r"""\s+[\w:-]{1,40}=(?:"[^"<>]{0,500}"|'[^'<>]{0,500}'|[^\s<>"']{1,500})"""
_TAG = regex.compile(
    r"(?i)</?(?:b|strong|em|i|u|mark|span|br|p|a|code|sub|sup|small|li|ul|ol)"
    rf"(?:{_ATTRIBUTE}){{0,10}}\s*/?>"
)
_BREAK = regex.compile(r"(?i)<(?:br|/p|/li)\b[^<>]{0,100}>")
_IMAGE = regex.compile(r"!\[[^\[\]\n]{0,300}\]\([^()\n]{0,2000}\)")
_LINK = regex.compile(r"\[([^\[\]\n]{0,300})\]\((?:[^()\n]|\([^()\n]{0,200}\)){0,2000}\)")
_BLANK_LINES = regex.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_COOKIE = regex.compile(r"(?i)cookie")
# What a consent banner says to its reader; a text about cookies does not speak so.
_CONSENT = regex.compile(
    r"""(?ix)
      \b(?:we|our\ (?:partners|site|website)|this\ (?:web)?site|the\ (?:web)?site)\b [^.!?]{0,60}
        \b(?:uses?|using|set|store|place)\b [^.!?]{0,40} \bcookies\b
    | \b(?:accept|reject|allow|decline|manage|refuse)\b \s (?:all\s|only\s|the\s)?
        (?:necessary\s|optional\s|essential\s|use\sof\s)? cookies\b
    | \bby\ (?:continuing|using|clicking|browsing)\b [^.!?]{0,120} \bcookies\b
    | ^\W* cookie \s (?:settings|preferences|policy|consent|notice) \W* $
    | \bwir\b [^.!?]{0,60} \b(?:verwenden|nutzen|setzen)\b [^.!?]{0,40} \bcookies\b
    | \bcookies\b \s (?:akzeptieren|ablehnen|zulassen) | \balle\ cookies\b
    | \bnous\ utilisons\b [^.!?]{0,30} \bcookies\b
    | \b(?:accepter|refuser)\b [^.!?]{0,20} \bcookies\b
    | \b(?:utilizamos|usamos)\b [^.!?]{0,30} \bcookies\b | \baceptar\b [^.!?]{0,20} \bcookies\b
    """
)
_MOST_BLOCK_CHARACTERS = 1500  # a block page says little; a page about block pages says more
_BLOCKED = regex.compile(
    r"""(?ix)
      ^\W* (?: just\ a\ moment\b | attention\ required! | pardon\ our\ interruption
             | are\ you\ a\ (?:robot|human)\b
             | access\ (?:to\ this\ page\ has\ been\ )?denied\b
               (?:\W*(?:$|\n|you\b|reference\b) | [^\n]{0,80}\bcloudflare\b)
             | (?:error\ )?40[34]\b \W* (?:forbidden|(?:page\ )?not\ found)? \W* (?:$|\n|nginx)
             | 50[234]\b [^\n]{0,40} (?:$|\n) | page\ not\ found \W* (?:$|\n)
             | robot\ check\b | security\ check\b \W* (?:$|\n) | client\ challenge\b )
    | \benable\ javascript\ and\ cookies\ to\ continue\b
    | \bplease\ (?:enable|turn\ on)\ (?:js|javascript|cookies)\b
    | \b you\ need\ to\ enable\ javascript\b
    | \b javascript\ is\ (?:disabled|not\ available)\ in\ your\b
    | \bverif(?:y|ying)\ (?:that\ )?you\ are\ (?:a\ |not\ a\ )?(?:human|robot)\b
    | \bchecking\ (?:your\ browser|if\ the\ site\ connection\ is\ secure)\b
    | \bunusual\ traffic\ from\ your\ (?:computer\ )?network\b
    | \b(?:sorry,\ )?you\ have\ been\ blocked\b | \bcomplete\ the\ (?:security\ check|captcha)\b
    | \bneeds\ to\ review\ the\ security\ of\ your\ connection\b
    """
)


def readable(text: object) -> str:
    """Return the readable part of `text`: no tags, links or images.

    A whole HTML page is reduced to its main text, and nothing that it refers to is fetched; of
    Markdown only the labels of links stay. Whatever is not a string has no readable part.
    """
    if not isinstance(text, str):
        return ""
    text = clean_text(text)
    if _HTML_DOCUMENT.search(text) or _HTML_END.search(text):
        text = _main_text(text[:_MOST_HTML])
    elif "<" in text:
        text = _TAG.sub("", _BREAK.sub("\n", text))
    text = html.unescape(text) if "&" in text else text
    if "](" in text:
        text = _LINK.sub(r"\1", _IMAGE.sub("", text))
    text = _BLANK_LINES.sub("\n\n", clean_text(text)).strip()
    return "" if is_blank(text) else text


def is_block_page(text: str) -> bool:
    """Return whether `text` is what a site shows instead of its page: a challenge, a denial."""
    return len(text) <= _MOST_BLOCK_CHARACTERS and _BLOCKED.search(text) is not None


def without_consent(text: str) -> str:
    """Return `text` without the sentences of a cookie banner; empty when it is nothing else."""
    if not _COOKIE.search(text):
        return text
    lines = [_line_without_consent(line) for line in text.split("\n")]
    left = _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()
    return "" if is_blank(left) else left


def _main_text(page: str) -> str:
    import trafilatura  # loads lxml and its models of pages

    found = trafilatura.extract(page, include_comments=False, include_tables=True)
    if found:
        return str(found)
    return str(trafilatura.html2txt(page))


def _line_without_consent(line: str) -> str:
    if not _COOKIE.search(line):
        return line
    sentences = [line[start:end] for start, end in sentence_spans(line)]
    kept = [sentence for sentence in sentences if not _CONSENT.search(sentence)]
    return line if len(kept) == len(sentences) else " ".join(kept)
