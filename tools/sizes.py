"""Measure the code and fail over the caps: small modules, short functions, docstrings everywhere.

Prints one line a part (package, Java, tests) with modules, lines, medians and docstring rates.
Run by ``make lint``.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

MODULE_LINES = 600
MODULE_MEDIAN = 250
FUNCTION_MEDIAN = 12
FUNCTION_P95 = 50
SMALL_INIT_LINES = 30

ROOT = Path(__file__).resolve().parent.parent
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Part:
    """What was measured of one part of the repository."""

    name: str
    modules: dict[str, int] = field(default_factory=dict)
    functions: dict[str, int] = field(default_factory=dict)
    documented: int = 0
    undocumented: list[str] = field(default_factory=list)

    def add(self, path: Path) -> None:
        """Measure one file."""
        text = path.read_text(encoding="utf-8")
        where = str(path.relative_to(ROOT))
        lines = text.count("\n")
        if path.name != "__init__.py" or lines > SMALL_INIT_LINES:
            self.modules[where] = lines
        if path.suffix == ".py":
            self._add_python(ast.parse(text), where)

    def _add_python(self, tree: ast.Module, where: str) -> None:
        self._count_docstring(tree, where)
        inner = {
            child
            for node in ast.walk(tree)
            if isinstance(node, Function)
            for child in ast.walk(node)
            if child is not node
        }
        for node in ast.walk(tree):
            if isinstance(node, Function):
                name = f"{where}:{node.lineno} {node.name}"
                self.functions[name] = (node.end_lineno or node.lineno) - node.lineno + 1
                # A function inside a function is nobody's interface.
                if not node.name.startswith("_") and node not in inner:
                    self._count_docstring(node, name)

    def _count_docstring(self, node: ast.Module | Function, name: str) -> None:
        if ast.get_docstring(node) is None:
            self.undocumented.append(name)
        else:
            self.documented += 1

    def row(self) -> str:
        """One line for the table."""
        sizes = sorted(self.modules.values()) or [0]
        lengths = sorted(self.functions.values())
        functions = (
            f"{median(lengths):>6.0f} {p95(lengths):>6.0f}" if lengths else f"{'-':>6} {'-':>6}"
        )
        total = self.documented + len(self.undocumented)
        documented = f"{self.documented / total:.0%}" if total else "-"
        return (
            f"{self.name:<10} {len(sizes):>7} {sum(sizes):>7} {median(sizes):>7.0f} {sizes[-1]:>6}"
            f" {functions} {documented:>10}"
        )


def p95(lengths: list[int]) -> float:
    """The length that 95% of the functions do not exceed."""
    return quantiles(lengths, n=20)[-1] if len(lengths) > 1 else float(lengths[0])


def measure(name: str, folder: str, pattern: str) -> Part:
    """Measure all files of one part, generated ones left out."""
    part = Part(name)
    for path in sorted((ROOT / folder).rglob(pattern)):
        if "target" not in path.parts and not path.name.endswith("_pb2.py"):
            part.add(path)
    return part


def complaints(part: Part) -> list[str]:
    """What breaks a cap, one sentence each."""
    found = [
        f"{where} has {lines} lines, more than {MODULE_LINES}: which jobs are mixed in it?"
        for where, lines in part.modules.items()
        if lines > MODULE_LINES
    ]
    found += [f"{name} has no docstring" for name in part.undocumented]
    if part.modules and median(part.modules.values()) > MODULE_MEDIAN:
        found.append(f"{part.name}: the median module has more than {MODULE_MEDIAN} lines")
    if part.functions and median(part.functions.values()) > FUNCTION_MEDIAN:
        found.append(f"{part.name}: the median function has more than {FUNCTION_MEDIAN} lines")
    if part.functions and p95(sorted(part.functions.values())) > FUNCTION_P95:
        found.append(f"{part.name}: 5% of the functions have more than {FUNCTION_P95} lines")
    return found


def main() -> int:
    """Print the table; return 1 if a cap is broken."""
    parts = [
        measure("package", "trinitylake_spark", "*.py"),
        measure("java", "jars", "*.java"),
        measure("tests", "tests", "*.py"),
        measure("tools", "tools", "*.py"),
        measure("examples", "examples", "*.py"),
        measure("benchmarks", "benchmarks", "*.py"),
    ]
    print("part       modules   lines  median    max  fn med fn p95  docstrings")
    found = []
    for part in parts:
        if part.modules:
            print(part.row())
            found += complaints(part)
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
