"""The tokenizer of all-MiniLM-L6-v2, built from the vocabulary that lies beside this module."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

VOCABULARY = Path(__file__).with_name("vocab.txt")

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def load_tokenizer() -> "Tokenizer":
    """Return the tokenizer, which neither pads nor truncates.

    It gives the ids of the `tokenizer.json` that comes with the model: BERT's normaliser (lower
    case, accents stripped, Chinese characters on their own), BERT's pre-tokeniser, WordPiece.
    """
    from tokenizers import AddedToken, Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing

    # Not splitlines(): the vocabulary holds characters that it takes for line ends.
    words = VOCABULARY.read_text(encoding="utf-8").rstrip("\n").split("\n")
    vocabulary = {word: index for index, word in enumerate(words)}
    tokenizer = Tokenizer(
        WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100)  # noqa: S106
    )
    tokenizer.normalizer = BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(mark, vocabulary[mark]) for mark in ("[CLS]", "[SEP]")],
    )
    tokenizer.add_special_tokens([AddedToken(mark, normalized=False) for mark in _SPECIAL])
    return tokenizer


def encode(tokenizer: "Tokenizer", text: str) -> "Encoding":
    """Return the tokens of `text`, `[CLS]` and `[SEP]` around them, with character offsets.

    A lone surrogate, which the tokenizer refuses, counts as a question mark. One text at a time:
    batches start the library's own threads, which do not survive a fork.
    """
    return tokenizer.encode(text if text.isascii() else text.encode(errors="replace").decode())
