"""The house keeps its order: imports point down, heavy libraries stay where they belong, names of the body stay data."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from biodyn.library.tables import expand_sides
from biodyn.settings import Settings

_PACKAGE = Path(__file__).parents[1] / "biodyn"
_PIPELINES = _PACKAGE.parent / "pipelines"

# Bottom first. A module may import from lower rooms and from its own; rooms of one storey do not import each other.
# A room is a folder of biodyn, a stage of processing, a kind of output, or one of the few modules beside the folders.
_LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "version"),
    ("conventions", "diagnostics", "threads"),
    ("geometry", "library"),
    ("kernels",),
    ("rigid_body", "statistics"),
    ("recording",),
    ("io",),
    ("session",),
    ("model",),
    ("model.from_library", "model.from_osim"),
    ("variables",),
    ("processing.signals",),
    ("processing.calibration", "processing.kinematics"),
    ("processing.contacts",),
    ("processing.dynamics",),
    ("processing.gait",),
    ("comparison", "verification"),
    ("uncertainty",),
    ("estimation",),
    ("settings",),
    ("analysis",),
    ("checks", "output.tables"),
    ("output.figures",),
    ("output.report",),
    ("output.store",),
    ("trial",),
    ("study",),
    ("app",),
    ("cli", "biodyn"),  # "biodyn" is the package's own __init__: the public names
    ("__main__",),  # python -m biodyn
)
_LEVEL = {room: level for level, rooms in enumerate(_LAYERS) for room in rooms}
# Folders that hold nothing but rooms; "model" is a room itself, with another one inside.
_NESTED = frozenset(room.split(".")[0] for room in _LEVEL if "." in room) - frozenset(_LEVEL)

# Rooms that only these may import: what is computed from a recording does not know files.
_DOORS = {
    "io": {"session", "trial", "study", "app"},
    "session": {"trial", "study"},
    # What computes with a body model does not know how it was made.
    "model.from_library": {
        "settings",
        "checks",
        "output.figures",
        "output.store",
        "trial",
        "study",
        "app",
        "cli",
    },
}

# Library -> the modules (or whole rooms) that may import it.
_CONFINED = {
    "ezc3d": set(),  # a reference in the tests, never a part of the program
    # Tables are made in output/tables; these take finished ones.
    # `to_frame` of a recording is for users and not called by the program.
    "pandas": {"recording", "output.tables", "study", "output.store", "trial", "output.figures", "output.report"},
    # Descriptions of figures know no backend; store and trial name the type that `plot` returns.
    "matplotlib": {
        "biodyn.output.figures.style",
        "biodyn.output.figures.matplotlib_backend",
        "biodyn.output.figures.png",
        "output.store",
        "trial",
    },
    "typer": {"cli"},
    "rich": {"cli"},
    "jinja2": {"output.report", "app"},
    "numba": {"kernels"},
    "llvmlite": {"kernels"},
    "platformdirs": {"kernels"},
    "filelock": {"study"},
    "threadpoolctl": {"biodyn.threads"},
    "PIL": {
        "biodyn.output.figures.matplotlib_backend",
        "biodyn.output.figures.png",
    },
    "pydantic": {"library", "study"},  # sections of the settings are made of library/settings_section.py
    "tomllib": {"biodyn.library.toml_files"},
    "statsmodels": {"statistics"},
    "defusedxml": {"rigid_body"},
    "lazy_loader": {"biodyn", "cli", "rigid_body", "study"},
    "spm1d": set(),  # GPL: a reference in the tests, never a part of the program
    # The data set of a study; recordings may be Parquet.
    "pyarrow": {"study", "biodyn.io.tables.spreadsheet", "biodyn.output.tables.parquet_tables"},
    "xlsxwriter": {"study", "biodyn.trial.export.sheets"},
}


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def _modules(folder: Path = _PACKAGE) -> tuple[tuple[str, ast.Module], ...]:
    return tuple(
        (
            ".".join(path.relative_to(folder.parent).with_suffix("").parts).removesuffix(".__init__"),
            _parsed(path),
        )
        for path in sorted(folder.rglob("*.py"))
    )


@cache
def _imports(tree: ast.Module) -> tuple[str, ...]:
    return tuple(_imported(tree))


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, "imports are absolute"
            if node.module == "biodyn":
                yield from (f"biodyn.{alias.name}" for alias in node.names)
            else:
                yield node.module


def _room(module: str) -> str:
    parts = module.split(".")
    if len(parts) == 1:
        return parts[0]
    inner = ".".join(parts[1:3])
    return inner if inner in _LEVEL or (parts[1] in _NESTED and len(parts) > 2) else parts[1]


def _upward(module: str, tree: ast.Module) -> list[str]:
    own = _room(module)
    return [
        f"{module} imports {name}"
        for name in _imports(tree)
        if name.split(".")[0] == "biodyn" and _room(name) != own and not _may_import(own, _room(name))
    ]


def _may_import(room: str, other: str) -> bool:
    return _LEVEL[other] < _LEVEL.get(room, 0) and room in _DOORS.get(other, {room})


def test_every_room_has_its_place_in_the_order() -> None:
    rooms = {_room(name) for name, tree in _modules() if tree.body[1:] or _room(name) not in _NESTED}
    assert rooms <= set(_LEVEL), f"not placed: {rooms - set(_LEVEL)}"


def test_imports_point_down() -> None:
    assert [fault for name, tree in _modules() for fault in _upward(name, tree)] == []


def test_every_open_door_is_used() -> None:
    """A permission that nobody needs any more would let the next one in unseen."""
    used = {
        (_room(found), _room(name)) for name, tree in _modules() for found in _imports(tree) if found[:6] == "biodyn"
    }
    assert {(room, guest) for room, guests in _DOORS.items() for guest in guests} - used == set()


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("biodyn.processing.signals.gaps", "from biodyn.trial.run import run_trial"),
        ("biodyn.processing.signals.gaps", "from biodyn.io.formats.c3d.reader import read_c3d"),
        ("biodyn.processing.signals.gaps", "from biodyn.settings import Settings"),
        ("biodyn.io.formats.c3d.reader", "import biodyn.processing.signals.gaps"),
        ("biodyn.model.body_model", "from biodyn.model.from_library.skeleton_recipes import load_skeleton"),
        (
            "biodyn.processing.kinematics.skeleton_fit",
            "from biodyn.model.from_library.markersets import recognise_marker_set",
        ),
        ("biodyn.kernels.dynamics", "def f():\n    from biodyn import model"),
    ],
)
def test_an_upward_import_is_found(module: str, line: str) -> None:
    assert len(_upward(module, ast.parse(line))) == 1


# The face of others by design: the base of the settings with its pydantic.
_FACES = {"biodyn.library.settings_section"}


def _borrowed(module: str, tree: ast.Module, defined: dict[str, set[str]]) -> list[str]:
    """Names that a module imports from another one (no package) which only imported them itself."""
    return [
        f"{module}: {alias.name} from {node.module}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in defined
        for alias in node.names
        if alias.name not in defined[node.module]
    ]


def test_names_are_imported_from_where_they_are_defined() -> None:
    """What moves takes its importers along; a second door would hide where it lives."""
    packages = {name for name, tree in _modules() if (_PACKAGE.parent / Path(*name.split("."))).is_dir()}
    defined = {name: set(_defined(tree)) for name, tree in _modules() if name not in packages | _FACES}
    assert [fault for name, tree in _modules() for fault in _borrowed(name, tree, defined)] == []
    line = ast.parse("from biodyn.output.tables.time_series import finite_rms")
    assert len(_borrowed("biodyn.output.figures.style", line, defined)) == 1


def test_readers_of_formats_are_found_and_not_named() -> None:
    """Whoever reads asks `biodyn.io`; only who writes a certain format names it."""
    users = {name for name, tree in _modules() if any(i.startswith("biodyn.io.formats") for i in _imports(tree))}
    writes_into_one = {"biodyn.trial.export.c3d"}
    assert {_room(name) for name in users - writes_into_one} <= {"io"}


@pytest.mark.parametrize("library", _CONFINED)
def test_libraries_stay_in_their_place(library: str) -> None:
    users = {name for name, tree in _modules() if any(found.split(".")[0] == library for found in _imports(tree))}
    allowed = _CONFINED[library]
    others = {name for name in users if name not in allowed and _room(name) not in allowed}
    assert others == set()


def test_every_imported_library_is_declared() -> None:
    """What another library happens to bring along today is not there tomorrow."""
    project = tomllib.loads((_PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [
        *project["dependencies"],
        *(line for name in ("study", "cluster", "b3d", "pdf", "app") for line in extras[name]),
    ]
    declared = {canonicalize_name(Requirement(line).name) for line in lines} | {"distributed"}  # dask[distributed]
    owners = packages_distributions()
    used = {name.split(".")[0] for _, tree in _modules() for name in _imports(tree)}
    foreign = used - sys.stdlib_module_names - {"biodyn"}
    undeclared = {
        name for name in foreign if not declared & {canonicalize_name(owner) for owner in owners.get(name, [name])}
    }
    assert undeclared == set()


def test_pipelines_use_the_public_interface() -> None:
    """A user's copy of a pipeline survives changes inside: it imports biodyn's public names only."""
    public = {"biodyn", "biodyn.errors"}
    for name, tree in _modules(_PIPELINES):
        inside = {found for found in _imports(tree) if found.split(".")[0] == "biodyn"}
        assert inside <= public, f"{name}: {inside - public}"


# -- a package says what it is ------------------------------------------------------------------------------------------

_ENDINGS = (".py", ".pyi", ".toml", ".j2", ".md")
_WRITTEN = (".json", ".npz", ".html", ".csv", ".png")  # of files that biodyn writes


def _docstrings() -> Iterator[tuple[Path, str]]:
    for path in sorted(_PACKAGE.rglob("__init__.py")):
        yield path.parent, ast.get_docstring(_parsed(path)) or ""


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))


def _defined_below(folder: Path) -> set[str]:
    """Functions, classes and constants of a folder's modules, and the macros of its templates."""
    names = {name for _, tree in _modules(folder) for name in _defined(tree)}
    macros = (re.findall(r"{%-? macro (\w+)", path.read_text(encoding="utf-8")) for path in folder.rglob("*.j2"))
    return names.union(*macros)


def _is_file_or_name_in_one(folder: Path, name: str) -> bool:
    """`signals/`, `registry`, `report/page.py`, `biodyn.kernels`, or `inverse_dynamics.solve_dynamics`."""
    if name.startswith("biodyn."):
        module, _, last = name.rpartition(".")
        if hasattr(importlib.import_module(module), last):
            return True
    path = name if name.endswith(_ENDINGS) else name.replace(".", "/")
    outer, _, last = path.rpartition("/")
    for place in (folder, folder.parent, _PACKAGE, _PACKAGE.parent):
        if (place / path).exists() or (place / f"{path}.py").exists():
            return True
        module = place / f"{outer}.py"
        if outer and module.exists() and last in _defined(_parsed(module)):
            return True
    return False


def _unknown_names(folder: Path, docstring: str, public: set[str], settings: set[str]) -> list[str]:
    """What stands in backticks and is no file, no name of the package, no class of biodyn and no entry of the settings."""
    own = _defined_below(folder)
    unknown = []
    for text in re.findall(r"`([^`\s]+)`", docstring):
        name = text.strip("@./").split("(")[0]
        first = name.split(".")[0]
        known = first in own or name in settings or (first[:1].isupper() and first in public)
        if not (known or text.endswith(_WRITTEN) or _is_file_or_name_in_one(folder, name)):
            unknown.append(text)
    return unknown


@pytest.fixture(scope="module")
def public_classes() -> set[str]:
    return {name for name in _defined_below(_PACKAGE) if name[:1].isupper()}


@pytest.fixture(scope="module")
def settings_entries() -> set[str]:
    sections = {name: field.annotation for name, field in Settings.model_fields.items()}
    entries = {(name, entry) for name, section in sections.items() for entry in getattr(section, "model_fields", ())}
    return {f"{name}.{entry}" for name, entry in entries} | {entry for _, entry in entries}


def test_every_package_says_what_it_is() -> None:
    """In 8 to 15 lines: what comes in, what goes out, in which order to read its files."""
    lines = {folder.relative_to(_PACKAGE.parent).as_posix(): len(text.splitlines()) for folder, text in _docstrings()}
    assert {name: count for name, count in lines.items() if not 8 <= count <= 15} == {}


def test_what_a_package_names_is_there(public_classes: set[str], settings_entries: set[str]) -> None:
    found = {
        str(folder.relative_to(_PACKAGE)): unknown
        for folder, text in _docstrings()
        if (unknown := _unknown_names(folder, text, public_classes, settings_entries))
    }
    assert found == {}


@pytest.mark.parametrize("name", ["plots.py", "words", "registry.no_such", "NoSuchClass", "library/checks.toml"])
def test_a_name_that_is_not_there_is_found(name: str, public_classes: set[str], settings_entries: set[str]) -> None:
    assert _unknown_names(_PACKAGE / "checks", f"Read `{name}`.", public_classes, settings_entries) == [name]


# -- names of the body are data ---------------------------------------------------------------------------------------


def _tables(kind: str) -> Iterator[dict[str, Any]]:
    for path in sorted((_PACKAGE / "library" / "body" / kind).glob("*.toml")):
        yield tomllib.loads(path.read_text(encoding="utf-8"))


def _names() -> set[str]:
    """Every marker label, landmark, body, joint and coordinate of the library, both sides written out."""
    patterns: list[str] = []
    for table in _tables("skeletons"):
        for body in table.get("body", ()):
            patterns += [body["name"], body["joint"], body["origin"]]
            patterns += [step["coordinate"] for step in body.get("rotations", ()) if "coordinate" in step]
            patterns += [name for group in body.get("base", {}).values() for name in group]
    for table in _tables("markersets"):
        for marker in table.get("marker", ()):
            patterns += [*marker["labels"], marker.get("landmark", "")]
    landmarks = tomllib.loads((_PACKAGE / "library" / "body" / "landmarks.toml").read_text(encoding="utf-8"))
    patterns += [entry["name"] for entry in landmarks["landmark"]]
    return {name for pattern in patterns if pattern for _, name in expand_sides(pattern)}


def _typed_names(tree: ast.Module, names: set[str]) -> list[tuple[int, str]]:
    """(line, text) of strings that are a name of the body, or the front part of one in an f-string."""
    # "knee_angle_" + side is a name as much as "knee_angle_r"
    stems = {name[:-1] for name in names if name.endswith(("_r", "_l"))}
    prose = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in prose
        and (node.value in names or node.value in stems)
    ]


def test_no_marker_body_or_coordinate_name_in_the_code() -> None:
    names = _names()
    assert {"LASI", "pelvis", "knee_angle_r", "hip_l", "asis_mid"} <= names  # the collector works
    found = [f"{module}:{line} {text!r}" for module, tree in _modules() for line, text in _typed_names(tree, names)]
    assert found == []


@pytest.mark.parametrize(
    "line", ['x = "LASI"', 'x = f"knee_angle_{side}"', 'x = {"pelvis": 1}', 'x = "hip_centre_" + s']
)
def test_a_typed_name_is_found(line: str) -> None:
    assert _typed_names(ast.parse(line), _names())


@pytest.mark.parametrize("package", ["biodyn", "biodyn.rigid_body", "biodyn.study"])
def test_every_public_name_loads_and_shows_in_tab_completion(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__all__
    assert set(module.__all__) - {"__version__"} <= set(dir(module))
    assert [name for name in module.__all__ if getattr(module, name, None) is None] == []


# -- nothing decides by the wording of a message ------------------------------------------------------------------------

_PROSE = frozenset({"message", "hint", "reason", "sentence", "why", "text"})
_STRING_METHODS = frozenset(
    ("startswith", "endswith", "split", "rsplit", "partition", "rpartition", "replace", "removeprefix", "removesuffix",
     "find", "index", "count", "splitlines", "translate")
)  # fmt: skip
# Paths are made relative to the study's folder before a sentence is shown: nothing is decided.
_REWORDED = {"biodyn.session.inventory"}
_TEMPLATE_CUT = re.compile(rf"\.(?:{'|'.join(sorted(_PROSE))})\b[^}}%]*?\|\s*(?:replace|split|truncate)\b")


def _is_prose(node: ast.AST) -> bool:
    """`finding.message`, `record["reason"]` and the like."""
    if isinstance(node, ast.Attribute):
        return node.attr in _PROSE
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value in _PROSE


def _decisions_by_wording(tree: ast.Module) -> list[int]:
    """Lines that compare a sentence with another text, look for one in it, or cut it."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            texts = [side for side in sides if not (isinstance(side, ast.Constant) and side.value in ("", None))]
            if any(_is_prose(side) for side in sides) and len(texts) > 1:
                lines.append(node.lineno)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _STRING_METHODS
            and _is_prose(node.func.value)
        ):
            lines.append(node.lineno)
    return lines


def test_nothing_decides_by_the_wording_of_a_message() -> None:
    found = [
        f"{name}:{line}" for name, tree in _modules() if name not in _REWORDED for line in _decisions_by_wording(tree)
    ]
    assert found == []


def test_no_template_cuts_prose() -> None:
    found = [
        f"{path.name}: {match[0]}"
        for path in sorted((*_PACKAGE.rglob("*.j2"), *_PACKAGE.rglob("*sections/*.py")))
        for match in _TEMPLATE_CUT.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        'kept = [n for n in notes if f"Marker {label} " in n.message]',
        'if finding.message.startswith("Plate"): pass',
        'x = record["reason"].split(": ")[1]',
        'if contact.reason == "two feet": pass',
    ],
)
def test_a_decision_by_wording_is_found(line: str) -> None:
    assert _decisions_by_wording(ast.parse(line)) == [1]


def test_a_template_that_cuts_prose_is_found() -> None:
    assert _TEMPLATE_CUT.search('{{ record.static.reason | replace("it is", "") }}')
    assert not _TEMPLATE_CUT.search("{{ record.static.reason | bare }}")
