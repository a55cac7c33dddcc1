"""The size of the program in numbers, this tree next to others: `python benchmarks/house.py [TREE ...] [--list] [--static]`

TREE is the folder of another version. `tests/test_house.py` holds the numbers of this tree below ceilings that may only fall.

- code lines: without blank lines, comments and docstrings.
- settings: entries of `biodyn.settings.Settings` and of the study's options, by their classes' annotated fields.
- numeric constants: names assigned to numbers, or to tuples and lists of numbers, at the top of a module.
- finding codes: literals that are passed to `Diagnostic` as its code.
- single-importer modules: below 120 lines, imported by exactly one other module of biodyn.
- caches: context variables, and mutable or memoised state of a module that depends on recordings.
- dialect: words and idioms of version 0.2 that are not plain technical English, a thousand lines of package and documentation.
- data's way: modules of the functions in the order of their first call, from `run_trial` to the torques, as far as a reader
  follows them: at most four calls deep; and all. A stay is a run of functions of one module; a return is a stay in a module that
  was left before.
"""

from __future__ import annotations

import ast
import io
import math
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

from common import REPOSITORY, Record, in_tree, parser_of, tell

_CALLS = Path(__file__).with_name("calls_of_a_run.py")
_SMALL_MODULE = 120
_READ_DEPTH = 4  # calls below `run_trial`
_NESTED = frozenset({"processing", "output", "model"})  # folders whose folders count as packages of their own


@dataclass(frozen=True)
class Count:
    """A number and the names of what was counted."""

    value: int
    unit: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class House:
    """The modules of a tree."""

    tree: Path

    @cached_property
    def texts(self) -> dict[str, str]:
        """Source of every module of biodyn by its name."""
        paths = sorted((self.tree / "biodyn").rglob("*.py"))
        names = (".".join(path.relative_to(self.tree).with_suffix("").parts) for path in paths)
        return {name: path.read_text(encoding="utf-8") for name, path in zip(names, paths, strict=True)}

    @cached_property
    def modules(self) -> dict[str, ast.Module]:
        return {name: ast.parse(text) for name, text in self.texts.items()}

    @cached_property
    def imports(self) -> dict[str, frozenset[str]]:
        """The modules of biodyn that each module imports."""
        return {name: frozenset(self._imported(module)) - {name} for name, module in self.modules.items()}

    def _imported(self, module: ast.Module) -> Iterator[str]:
        for node in ast.walk(module):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names if alias.name in self.texts)
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    for name in (f"{node.module}.{alias.name}", node.module, f"{node.module}.__init__"):
                        if name in self.texts:
                            yield name
                            break

    def package(self, module: str) -> str:
        """The folder of biodyn/ that a module belongs to."""
        parts = module.removesuffix(".__init__").split(".")
        if len(parts) > 2 and parts[1] in _NESTED:
            return ".".join(parts[1:3])
        return parts[1] if len(parts) > 1 else parts[0]


# -- size -----------------------------------------------------------------------------------------------------------


def code_lines(text: str) -> int:
    """Return the lines of a module without blank lines, comments and docstrings."""
    ignored = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in ignored:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node, clean=False
        ):
            lines.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def size(house: House) -> dict[str, Count]:
    """Code lines, files, dataclasses, constants, finding codes, settings, modules with one importer."""
    classes = [
        (f"{name}.{node.name}", node)
        for name, module in house.modules.items()
        for node in ast.walk(module)
        if isinstance(node, ast.ClassDef)
    ]
    dataclasses = tuple(
        name for name, node in classes if any("dataclass" in ast.unparse(d) for d in node.decorator_list)
    )
    settings = tuple(_settings(classes))
    importers = Counter(other for names in house.imports.values() for other in names)
    small = tuple(
        name
        for name, text in house.texts.items()
        if importers[name] == 1 and not name.endswith("__init__") and text.count("\n") < _SMALL_MODULE
    )
    constants = tuple(f"{name}.{target}" for name, module in house.modules.items() for target in _numbers(module))
    return {
        "code lines": Count(sum(map(code_lines, house.texts.values())), "lines"),
        "files": Count(len(house.texts), "files"),
        "dataclasses": Count(len(dataclasses), "classes", dataclasses),
        "settings": Count(len(settings), "settings", settings),
        "settings of the estimate": _settings_of(settings, "EstimationSettings"),
        "numeric constants": Count(len(constants), "names", constants),
        "finding codes": _codes(house),
        "single-importer modules": Count(len(small), "modules", small),
        "import circles": _circles(house),
        "caches and context variables": _state(house),
        "dialect per thousand lines": _dialect(house),
    }


def _settings(classes: Iterable[tuple[str, ast.ClassDef]]) -> Iterator[str]:
    """Entries of the pydantic sections outside of the library's schemas: what users write into a settings or a study's TOML."""
    listed = [(name, node) for name, node in classes if not name.startswith("biodyn.library.")]
    sections = {"Section", "BaseModel"}
    while more := {n.name for _, n in listed if {ast.unparse(base) for base in n.bases} & sections} - sections:
        sections |= more
    for name, node in listed:
        for entry in node.body if node.name in sections - {"Section", "BaseModel"} else ():
            if (
                isinstance(entry, ast.AnnAssign)
                and isinstance(entry.target, ast.Name)
                and not set(re.findall(r"\w+", ast.unparse(entry.annotation))) & sections
            ):
                yield f"{name}.{entry.target.id}"


def _settings_of(settings: tuple[str, ...], section: str) -> Count:
    names = tuple(name for name in settings if name.split(".")[-2] == section)
    return Count(len(names), "settings", names)


def _numbers(module: ast.Module) -> Iterator[str]:
    for node in module.body:
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if value is not None and _is_number(value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]  # type: ignore[union-attr]
            yield from (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))


def _is_number(value: ast.expr) -> bool:
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    if isinstance(value, ast.Tuple | ast.List):
        return bool(value.elts) and all(map(_is_number, value.elts))
    return (
        isinstance(value, ast.Constant) and isinstance(value.value, int | float) and not isinstance(value.value, bool)
    )


def _codes(house: House) -> Count:
    names = set()
    for module in house.modules.values():
        texts = {
            target.id: node.value.value
            for node in module.body
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(module):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("Diagnostic", "Finding"):
                keywords = {word.arg: word.value for word in node.keywords}
                code = node.args[0] if node.args else keywords.get("code")
                for part in ast.walk(code) if code is not None else ():
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        names.add(part.value)
                    elif isinstance(part, ast.Name) and part.id in texts:
                        names.add(texts[part.id])
    return Count(len(names), "codes", tuple(sorted(names)))


def _circles(house: House) -> Count:
    """Groups of packages that import each other around a circle."""
    graph: dict[str, set[str]] = {}
    for name, imported in house.imports.items():
        graph.setdefault(house.package(name), set()).update(house.package(other) for other in imported)
    below = {}
    for start in graph:
        seen: set[str] = set()
        waiting = list(graph[start] - {start})
        while waiting:
            package = waiting.pop()
            if package not in seen:
                seen.add(package)
                waiting += graph.get(package, set()) - {package}
        below[start] = seen
    groups = {frozenset(other for other in seen if start in below[other]) for start, seen in below.items()} - {
        frozenset()
    }
    return Count(len(groups), "circles", tuple(" - ".join(sorted(group)) for group in groups))


def _state(house: House) -> Count:
    """Context variables, weak dictionaries, dictionaries and lists of modules that functions fill."""
    names = []
    for name, module in house.modules.items():
        filled = {
            target.id
            for node in module.body
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
            and re.match(
                r"(\{\}|\[\]|dict\(|set\(|list\(|(weakref\.)?Weak\w+\(|ContextVar|OrderedDict\()",
                ast.unparse(node.value),
            )
        }
        text = house.texts[name]
        names += [
            f"{name}.{variable}"
            for variable in sorted(filled)
            if "ContextVar" in text
            or re.search(rf"\b{variable}(\[[^\]]*\] = |\.(append|add|update|setdefault|pop)\()", text)
        ]
        names += [
            f"{name}: global {', '.join(node.names)}" for node in ast.walk(module) if isinstance(node, ast.Global)
        ]
    return Count(len(names), "names", tuple(names))


# -- the data's way ---------------------------------------------------------------------------------------------------


_WORDS = re.compile(
    r"\b(told|anew|beside|nobody|seldom|mended|lies|lie|stands|borne|heard|whose|astray|awaited|towards|steadied|worn|thereby|"
    r"wherein|thereof|of before|by itself|put right|is no|are no|there is no|there are no|those of|that of the|what is|asks for|"
    r"ask for|say so|says so|to be had|as ever|made anew|at hand|stands for|stands over|for want of)\b",
    re.IGNORECASE,
)
_NAMES = re.compile(r"(?<![.\w])(found|own|one|told|left|asked|kept|moved|beside)\s*(?:=[^=]|,|:=| in )")
_TEXTS = (".py", ".toml", ".md", ".j2", ".html", ".js")


def _dialect(house: House) -> Count:
    """Count words of the dialect in the package, the documentation and the texts at the top of the project."""
    files = [*house.tree.glob("biodyn/**/*"), *house.tree.glob("docs/**/*"), *house.tree.glob("*.md")]
    lines, total, names = 0, 0, []
    for file in sorted(file for file in files if file.suffix in _TEXTS and "_gallery" not in file.parts):
        text = file.read_text(encoding="utf-8")
        count = len(_WORDS.findall(text)) + (len(_NAMES.findall(text)) if file.suffix == ".py" else 0)
        lines, total = lines + text.count("\n"), total + count
        names += [f"{file.relative_to(house.tree).as_posix()}: {count}"] * bool(count)
    return Count(round(1000 * total / max(lines, 1)), "words", tuple(names))


def data_way(house: House) -> dict[str, Count]:
    """Stays, modules and returns from `run_trial` to the torques of a walk of the sample data."""
    walk = REPOSITORY / "sample_data" / "subject01" / "walk01.c3d"
    calls, counts = in_tree(house.tree, _CALLS, walk), {}
    for part, deepest in (("data's way", _READ_DEPTH), ("data's way with all functions", math.inf)):
        stays = [name for name, _ in groupby(name for name, depth in calls if depth <= deepest)]
        counts[f"{part}, stays"] = Count(len(stays), "stays")
        counts[f"{part}, modules"] = Count(len(set(stays)), "modules", tuple(dict.fromkeys(stays)))
        counts[f"{part}, returns"] = Count(len(stays) - len(set(stays)), "returns")
    return counts


def main() -> None:
    """Print the numbers of every tree."""
    parser = parser_of(__doc__)
    parser.add_argument("trees", nargs="*", type=Path, metavar="TREE", help="folders of other versions")
    parser.add_argument("--static", action="store_true", help="without the data's way: seconds instead of a minute")
    parser.add_argument("--list", action="store_true", help="name what is counted")
    options = parser.parse_args()
    record = Record("house", {"trees": [str(tree) for tree in options.trees], "static": options.static})
    for tree in (REPOSITORY, *(path.resolve() for path in options.trees)):
        house = House(tree)
        counts = size(house) | ({} if options.static else data_way(house))
        for name, count in counts.items():
            record.add(f"{name}: {'this tree' if tree == REPOSITORY else tree.name}", count.value, count.unit)
            if options.list and count.names:
                tell(f"{name}, {tree.name}:\n    " + "\n    ".join(count.names))
    record.close()


if __name__ == "__main__":
    main()
