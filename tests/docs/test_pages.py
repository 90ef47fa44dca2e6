"""Every block of code on every page runs, every command can be typed, every file and message exists."""

from __future__ import annotations

import ast
import re
import shlex

import pytest
from pages import DOCS, PAGES, ROOT, blocks, commands, name_of

WITH_CODE = [page for page in PAGES if any(block.language == "python" for block in blocks(page))]
OTHERS_NAMES = {"LocalCluster"}  # of libraries that pages speak of
# What else may stand in a block: commands, other text, and what Sphinx draws.
OTHER_LANGUAGES = ("console", "text", "r", "html", "toml")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_code_hides_from_the_tests(page):
    for block in blocks(page):
        known = block.language == "python" or block.language in OTHER_LANGUAGES
        assert known or block.language.startswith("{"), f"line {block.line}: a block of {block.language!r}"
        shell = [line for line in block.text.splitlines() if re.match(r"(\$ )?(flgp|make|pip) ", line)]
        if block.language not in ("console", "python"):
            assert not shell, f"line {block.line}: commands belong in a console block"
        if block.language == "console":
            assert all(line.startswith("$ ") for line in shell), f"line {block.line}: a command without $"
    indented = re.findall(r"\n\n    \S.*", page.read_text(encoding="utf-8"))
    assert not [line for line in indented if re.match(r"\s+(flgp|make|pip|import|from|>>>) ?", line)]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_merge_was_left_half_done(page):
    assert not re.search(r"(?m)^(<<<<<<<|>>>>>>>|=======$)", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)  # pages write files where they stand
    names: dict = {"__name__": __name__}  # a dataclass looks its module up, so it needs one
    for block in blocks(page):
        if block.language == "python":
            # Lines are those of the page, so that a traceback points there.
            code = "\n" * (block.line - 1) + block.text
            exec(compile(code, str(page), "exec"), names)
    from matplotlib import pyplot

    pyplot.close("all")


def all_commands():
    return [pytest.param(line, id=f"{name_of(page)}: {line}") for page in PAGES for line in commands(page)]


@pytest.mark.parametrize("line", [p for p in all_commands() if "flgp" in p.values[0]])
def test_the_command_line_knows_its_options(line):
    typer = pytest.importorskip("typer")
    from flgp.cli import app
    from flgp.experiments.measure import MEASUREMENTS, find

    words = shlex.split(line, comments=True)
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words.pop(0)  # a variable of the environment
    if words[0] != "flgp":
        return
    command, context, rest = typer.main.get_command(app), None, words[1:]
    if rest == ["…"]:
        return
    if rest[:1] == ["bench"] and rest[1:2] and rest[1] in MEASUREMENTS:
        find(rest[1])[1].parse_args(rest[2:])
        return
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        if rest[0] == "…":
            return
        assert rest[0] in command.commands, f"flgp has no command {rest[0]}"
        command, rest = command.commands[rest[0]], rest[1:]
    if rest in (["--help"], ["--version"], ["…"]):
        return
    required = [p for p in command.params if p.required]
    if not rest and required:
        return  # the command's name in a sentence
    # Parsing alone: nothing is run, and files need not exist.
    context = command.make_context(command.name, list(rest), parent=context)
    assert not context.args


@pytest.mark.parametrize("line", [p for p in all_commands() if p.values[0].startswith("make ")])
def test_the_makefile_knows_the_target(line):
    target = shlex.split(line, comments=True)[1]
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_are_named_exist(page):
    text = page.read_text(encoding="utf-8")
    for path in re.findall(r"\b((?:src|tests|docs|examples|results)/[\w./-]*\w)(?!\w*\*)", text):
        if not path.startswith("docs/_build"):
            assert (ROOT / path).exists(), path
    for module in re.findall(r"`(\w+/\w[\w/]*\.py)`", text):
        assert (ROOT / module).exists() or (ROOT / "src" / "flgp" / module).exists(), module


def test_quoted_messages_are_those_of_the_code():
    """On the page of remedies, … stands for what varies."""
    spoken = []
    for path in (ROOT / "src" / "flgp").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = [str(v.value) if isinstance(v, ast.Constant) else "…" for v in node.values]
                spoken.append("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                spoken.append(node.value)
    spoken = [" ".join(text.split()) for text in spoken]
    messages = [block for block in blocks(DOCS / "troubleshooting.md") if block.language == "text"]
    assert len(messages) > 12
    for block in messages:
        for message in block.text.strip().split("\n\n"):
            wanted = " ".join(message.split())
            assert any(wanted in text for text in spoken), f"line {block.line}: nothing says {wanted!r}"


def test_names_on_the_pages_exist():
    """A renamed class or parameter must not live on in the text."""
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py"), *(ROOT / "docs").glob("*.py")]
    known = set(re.findall(r"\w+", "\n".join(path.read_text(encoding="utf-8") for path in sources)))
    known |= set(re.findall(r"\w+", (ROOT / "Makefile").read_text())) | OTHERS_NAMES
    for page in PAGES:
        if page.name == "coming_from.md":
            continue  # its first columns are other people's names
        prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        # What the page's own code defines counts too.
        defined = set(re.findall(r"\w+", "\n".join(block.text for block in blocks(page))))
        for span in re.findall(r"`([A-Za-z_][\w.]*)(?:=[^`]*)?(?:\([^`]*\))?`", prose):
            if not re.search(r"\.(md|py|csv|json|txt|gz|png|gii|cff|html|flgp|nii)$", span):
                missing = set(span.strip(".").split(".")) - known - defined
                assert not missing, f"{name_of(page)}: {span}"
