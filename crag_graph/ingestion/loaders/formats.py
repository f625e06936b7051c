"""Which files can be loaded, by extension or name, and with which loader."""

from pathlib import PurePath

# The extensions that are read as source code, and the language that each is in.
CODE_LANGUAGES: dict[str, str] = {
    ".bash": "bash", ".bat": "batch", ".c": "c", ".cc": "cpp", ".cfg": "ini", ".clj": "clojure",
    ".cmake": "cmake", ".conf": "ini", ".cpp": "cpp", ".cs": "csharp", ".css": "css",
    ".cxx": "cpp", ".dart": "dart", ".el": "lisp", ".erl": "erlang",
    ".ex": "elixir", ".exs": "elixir", ".f90": "fortran", ".fs": "fsharp", ".go": "go",
    ".gradle": "groovy", ".graphql": "graphql", ".groovy": "groovy", ".h": "c", ".hcl": "hcl",
    ".hpp": "cpp", ".hs": "haskell", ".ini": "ini", ".java": "java", ".jl": "julia", ".js": "js",
    ".jsx": "js", ".kt": "kotlin", ".kts": "kotlin", ".lisp": "lisp", ".lua": "lua", ".m": "objc",
    ".mjs": "js", ".ml": "ocaml", ".nix": "nix", ".php": "php", ".pl": "perl", ".pm": "perl",
    ".properties": "ini", ".proto": "proto", ".ps1": "powershell", ".py": "python",
    ".pyi": "python", ".r": "r", ".rb": "ruby", ".rs": "rust", ".sass": "css", ".scala": "scala",
    ".scss": "css", ".sh": "bash", ".sol": "sol", ".sql": "sql", ".svelte": "html",
    ".swift": "swift", ".tcl": "tcl", ".tex": "latex", ".tf": "hcl", ".toml": "toml", ".ts": "ts",
    ".tsx": "ts", ".vb": "vb", ".vim": "vim", ".vue": "html", ".xml": "xml", ".xsd": "xml",
    ".xsl": "xml", ".yaml": "yaml", ".yml": "yaml", ".zig": "zig", ".zsh": "bash",
}  # fmt: skip

# Loader module and function of each extension; the modules are imported when they are needed.
_LOADERS: dict[str, str] = {
    **dict.fromkeys(
        (".txt", ".text", ".log", ".rst", ".adoc", ".asciidoc", ".org"), "text:parse_text"
    ),
    **dict.fromkeys(
        (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd"), "markdown:parse_markdown"
    ),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html:parse_html"),
    **dict.fromkeys((".eml", ".mht", ".mhtml"), "mail:parse_mail"),
    **dict.fromkeys((".csv", ".tsv"), "tables:parse_table"),
    ".json": "records:parse_json",
    **dict.fromkeys((".jsonl", ".ndjson"), "records:parse_json_lines"),
    ".pdf": "pdf:parse_pdf",
    ".docx": "docx:parse_docx",
    ".pptx": "pptx:parse_pptx",
    ".epub": "epub:parse_epub",
    ".ipynb": "notebook:parse_notebook",
    **dict.fromkeys(CODE_LANGUAGES, "text:parse_code"),
    ".xml": "community:parse_xml_file",
}
# Files that go by their name alone.
_NAMES: dict[str, str] = {
    **dict.fromkeys(
        ("readme", "license", "licence", "copying", "copyright", "notice", "authors",
         "contributors", "changelog", "changes", "news", "history", "todo", "install",
         "faq", "thanks"),
        "text:parse_text",
    ),
    **dict.fromkeys(
        ("makefile", "dockerfile", "jenkinsfile", "vagrantfile", "rakefile", "gemfile", "justfile"),
        "text:parse_code",
    ),
}  # fmt: skip


def loader_of(path: PurePath) -> str | None:
    """Return the loader of a file as `module:function`, or None where its format is not known."""
    return _LOADERS.get(path.suffix.lower()) or _NAMES.get(path.name.lower())


def extensions() -> tuple[str, ...]:
    """Return every extension that can be loaded, sorted, in lower case and with the dot."""
    return tuple(sorted(_LOADERS))
