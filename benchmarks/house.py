"""The picture of the house as numbers, this tree beside others: `python benchmarks/house.py [TREE ...]`.

TREE is the folder of another version; without one the version that was reviewed first (commit a5394c3, 0.1.0) is taken from the
repository's history. A room is a folder or module of biodyn/; inside processing, output and model every folder is one. All
imports count: at the top, inside functions, for types only. --list names what is counted.

Counted:

- circles: groups of rooms that import each other around a circle.
- upward imports: against the order the tree's own tests/test_architecture.py states, where the rooms are those it states.
- calls upward: while `biodyn run` analyses a walk of sample_data, pairs of modules of which one calls a function of the other
  directly though the callee's room imports the caller's, straight or through others: callbacks, steps handed down, registered
  functions. Each pair once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from common import REPOSITORY, Record, commit_tree, in_tree, parser_of, tell

FIRST_REVIEWED = "a5394c3"
HOLD_ROOMS = frozenset({"processing", "output", "model"})
LONG_FUNCTION, LONG_FILE = 60, 300
_CALLS = Path(__file__).with_name("calls_of_a_run.py")

RoomOf = Callable[[str], str]


@dataclass(frozen=True)
class House:
    """The modules of a tree and what they import."""

    tree: Path

    @cached_property
    def files(self) -> dict[str, Path]:
        """Every module of biodyn by its name."""
        found = {}
        for path in sorted((self.tree / "biodyn").rglob("*.py")):
            parts = path.relative_to(self.tree).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = path
        return found

    @cached_property
    def texts(self) -> dict[str, ast.Module]:
        return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in self.files.items()}

    @cached_property
    def imports(self) -> dict[str, list[str]]:
        """The modules of biodyn that each module imports, in the order they stand in it."""
        return {name: list(dict.fromkeys(self._imported(tree))) for name, tree in self.texts.items()}

    def _imported(self, tree: ast.Module) -> Iterator[str]:
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        for node in sorted(nodes, key=lambda node: node.lineno):
            names = sorted(alias.name for alias in node.names)
            if isinstance(node, ast.Import):
                yield from (name for name in names if name in self.files)
            elif node.module and node.module.split(".")[0] == "biodyn":
                for name in names:
                    inner = f"{node.module}.{name}"
                    yield inner if inner in self.files else node.module

    @cached_property
    def packages(self) -> frozenset[str]:
        return frozenset(name for name, path in self.files.items() if path.name == "__init__.py")

    def room(self, module: str) -> str:
        """The room of a module: first part of its name behind biodyn, second where the first holds rooms."""
        parts = module.split(".")
        if len(parts) > 2 and parts[1] in HOLD_ROOMS and ".".join(parts[:3]) in self.packages:
            return ".".join(parts[1:3])
        return self.top(module)

    @staticmethod
    def top(module: str) -> str:
        """The folder or module of biodyn/ that a module belongs to."""
        return module.split(".")[1] if "." in module else module

    def stated_order(self) -> dict[str, int]:
        """Level of each room as the tree's own test of its architecture states it; empty where it states none."""
        test = self.tree / "tests" / "test_architecture.py"
        if test.is_file():
            for node in ast.parse(test.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "_LAYERS" and node.value:
                    layers = ast.literal_eval(node.value)
                    return {room: level for level, rooms in enumerate(layers) for room in rooms}
        return {}


# -- rooms ----------------------------------------------------------------------------------------------------------


def graph_of(house: House, room: RoomOf) -> dict[str, set[str]]:
    """Which rooms each room imports."""
    graph: dict[str, set[str]] = {room(name): set() for name in house.files}
    for name, imported in house.imports.items():
        graph[room(name)] |= {room(other) for other in imported} - {room(name)}
    return graph


def reached(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Which rooms each room imports, straight or through others; itself only where it stands on a circle."""
    found = {}
    for start in graph:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            new = graph[waiting.pop()] - seen
            seen |= new
            waiting += new
        found[start] = seen
    return found


def circles(reach: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups of rooms that import each other around a circle."""
    groups = {frozenset(other for other in below if room in reach[other]) for room, below in reach.items()}
    return sorted(sorted(group) for group in groups if group)


# -- counting -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Count:
    """A number of the picture, and what was counted."""

    value: float
    unit: str
    named: tuple[str, ...] = ()


def size(house: House) -> dict[str, Count]:
    """Modules, lines, long functions and files."""
    lines = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in house.files.items()}
    long = [
        (node.end_lineno - node.lineno + 1, f"{name}.{node.name}")
        for name, tree in house.texts.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None
    ]
    functions = sorted(((length, name) for length, name in long if length > LONG_FUNCTION), reverse=True)
    files = sorted(((length, name) for name, length in lines.items() if length > LONG_FILE), reverse=True)
    top = sorted(name for name in house.files if name.count(".") == 1 and name not in house.packages)
    return {
        "modules": Count(len(house.files) - len(house.packages), "modules"),
        "packages": Count(len(house.packages), "packages"),
        "lines": Count(sum(lines.values()), "lines"),
        "modules at the top of biodyn/": Count(len(top), "modules", tuple(top)),
        f"functions over {LONG_FUNCTION} lines": Count(len(functions), "functions", _named(functions)),
        f"files over {LONG_FILE} lines": Count(len(files), "files", _named(files)),
    }


def _named(sizes: list[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(f"{name} {length}" for length, name in sizes)


def order(house: House) -> dict[str, Count]:
    """Rooms, circles, and imports upward."""
    graph = graph_of(house, house.room)
    reach = reached(graph)
    found = circles(reach)
    counts = {
        "rooms": Count(len(graph), "rooms"),
        "circles between rooms": Count(len(found), "circles", tuple(" - ".join(group) for group in found)),
    }
    stated = house.stated_order()
    if stated:

        def level(module: str) -> int:
            inner = ".".join(module.split(".")[1:3])
            return stated.get(inner, stated.get(house.top(module), 0))

        upward = [
            (name, other) for name, names in house.imports.items() for other in names if level(other) > level(name)
        ]
        counts["upward imports"] = Count(len(upward), "imports", _arrows(upward))
    return counts


def calls_upward(house: House, walk: Path) -> dict[str, Count]:
    """Pairs of modules of which the lower calls the higher while a walk is analysed."""
    reach = reached(graph_of(house, house.room))
    calls = [entry for entry in in_tree(house.tree, _CALLS, walk) if {entry[0], entry[1]} <= house.files.keys()]
    between = {(one, other) for one, other, _, _ in calls if house.room(one) != house.room(other)}
    upward: dict[tuple[str, str], list[str]] = {}
    for one, other, function, _ in calls:
        if _above(house, reach, one, other):
            upward.setdefault((one, other), []).append(function)
    named = tuple(f"{one} -> {other}: {', '.join(functions)}" for (one, other), functions in upward.items())
    return {
        "calls between rooms": Count(len(between), "pairs of modules"),
        "calls upward": Count(len(upward), "pairs of modules", named),
    }


def _above(house: House, reach: Mapping[str, set[str]], one: str, other: str) -> bool:
    """The other module's room imports the one's."""
    return house.room(one) != house.room(other) and house.room(one) in reach[house.room(other)]


def _arrows(pairs: list[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(f"{one} -> {other}" for one, other in pairs)


def picture(tree: Path, run: bool) -> dict[str, Count]:
    """All counts of a tree; `run`: the calls of a run too."""
    house = House(tree)
    walk = next(iter(sorted((tree / "sample_data").glob("*/walk*.c3d"))), None)
    walked = calls_upward(house, walk) if run and walk is not None else {}
    return size(house) | order(house) | walked


def main() -> None:
    """Print the pictures side by side."""
    parser = parser_of(__doc__)
    parser.add_argument("trees", nargs="*", type=Path, metavar="TREE", help="folders of other versions")
    parser.add_argument("--static", action="store_true", help="no calls of a run: seconds instead of a minute")
    parser.add_argument("--list", action="store_true", help="name what is counted")
    asked = parser.parse_args()
    record = Record("house", vars(asked))
    with ExitStack() as stack:
        trees = {"this tree": REPOSITORY, **{path.resolve().name: path.resolve() for path in asked.trees}}
        if not asked.trees:
            first = stack.enter_context(commit_tree(FIRST_REVIEWED))
            if first is None:
                tell(f"The repository's history is not here: no {FIRST_REVIEWED} to hold this tree against.")
            else:
                trees[f"0.1.0 ({FIRST_REVIEWED})"] = first
        pictures = {name: picture(tree, not asked.static) for name, tree in trees.items()}
    for name in dict.fromkeys(count for counts in pictures.values() for count in counts):
        for tree, counts in pictures.items():
            if name in counts:
                record.add(f"{name}: {tree}", counts[name].value, counts[name].unit)
                if asked.list and counts[name].named:
                    tell(f"{name}, {tree}:\n    " + "\n    ".join(counts[name].named))
    record.close()


if __name__ == "__main__":
    main()
