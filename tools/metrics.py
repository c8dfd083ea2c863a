"""Sizes of the code in ``src/iegp``: what `make metrics` prints. It informs; it never fails.

python tools/metrics.py [FOLDER]
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

MOST_ARGUMENTS = 6
COMPILED = {"compiled", "compiled_fast_sums"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def code_lines(source: str) -> int:
    """Count lines that hold code: no blanks, comments or docstrings."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in skipped:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstring_lines(ast.parse(source)))


def docstring_lines(tree: ast.AST) -> set[int]:
    """Find the lines of every string that stands alone as a statement, and of texts that docstrings share."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        shared = getattr(node, "value", None) if is_table_of_texts(node) else None
        for text in [node.value] if isinstance(node, ast.Expr) else ast.walk(shared) if shared is not None else []:
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                lines.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return lines


def is_table_of_texts(node: ast.AST) -> bool:
    """Say whether a statement makes a table for ``iegp._docstrings``, with ``entries`` or by its name."""
    if not isinstance(node, ast.Assign | ast.AugAssign):
        return False
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return bool(names & {"entries", "DOCS", "METHODS"})


def functions(tree: ast.AST) -> Iterator[Function]:
    """Yield every function and method."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node


def body_length(function: Function) -> int:
    """Count the lines of a function without signature and docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return 0 if not body else (body[-1].end_lineno or 0) - body[0].lineno + 1


def argument_names(function: Function) -> list[str]:
    """Name the arguments of a function, self and cls left out."""
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def is_compiled(function: Function) -> bool:
    """Say whether Numba compiles a function."""
    return any(isinstance(mark, ast.Name) and mark.id in COMPILED for mark in function.decorator_list)


def public_functions(tree: ast.Module) -> Iterator[Function]:
    """Yield the public functions of a module and the public methods of its public classes."""
    for node in tree.body:
        if isinstance(node, Function) and not node.name.startswith("_"):
            yield node
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from (part for part in node.body if isinstance(part, Function) and not part.name.startswith("_"))


def lacks_parameters(function: Function) -> bool:
    """Say whether a function with arguments has a docstring without a section that explains them."""
    docstring = ast.get_docstring(function) or ""
    has_section = "Parameters\n" in docstring or "{parameters" in docstring  # a placeholder of fill_docstrings
    return bool(argument_names(function)) and not has_section


def percentile(values: list[int], share: float) -> int:
    """Take the value below which this share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0


def main() -> None:
    """Print the table."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "src/iegp")
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(folder.glob("**/*.py"))}
    trees = {path: ast.parse(source) for path, source in sources.items()}
    every = [function for tree in trees.values() for function in functions(tree)]
    compiled = [function for function in every if is_compiled(function)]
    bodies = [body_length(function) for function in every]
    widths = [len(line) for source in sources.values() for line in source.splitlines() if line.strip()]
    public = [function for tree in trees.values() for function in public_functions(tree) if argument_names(function)]
    rows = {
        "files": len(sources),
        "lines of code": sum(map(code_lines, sources.values())),
        "lines in all": sum(len(source.splitlines()) for source in sources.values()),
        "function body, median / 90th percentile / longest": " / ".join(
            str(percentile(bodies, share)) for share in (0.5, 0.9, 1.0)
        ),
        "line length, 90th percentile": percentile(widths, 0.9),
        "most arguments": max(len(argument_names(function)) for function in every),
        "compiled functions": len(compiled),
        f"compiled functions with more than {MOST_ARGUMENTS} arguments": sum(
            len(argument_names(function)) > MOST_ARGUMENTS for function in compiled
        ),
        "functions and methods without underscore, with arguments": len(public),
        "of these without a section Parameters": sum(map(lacks_parameters, public)),
    }
    for name, value in rows.items():
        print(f"{name:<65} {value:>12}")  # noqa: T201


if __name__ == "__main__":
    main()
