"""Descriptions of invalid entries of tables and settings: key, expected and actual value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from biodyn.errors import TableError
from biodyn.library.toml_files import UserFile, suggest_name

_EXPECTED = {
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a number that is finite",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}
_PLURAL = frozenset({"tuple_type", "list_type", "dict_type"})
_NUMBERS = frozenset(
    {"float_type", "float_parsing", "finite_number", "int_type", "int_parsing", "int_from_float"}
    | {"greater_than", "greater_than_equal", "less_than", "less_than_equal"}
)
_BOUNDS = (("gt", "above"), ("ge", "at least"), ("lt", "below"), ("le", "at most"))


@dataclass(frozen=True)
class Fault:
    """First invalid entry of a table: its path, the problem, and a hint ("" = none)."""

    path: tuple[str | int, ...]
    problem: str
    hint: str = ""

    @property
    def key(self) -> str:
        """Return the path of the invalid entry joined by dots; entries of lists are counted from 1."""
        return ".".join(str(part + 1) if isinstance(part, int) else part for part in self.path)


def first_fault(error: ValidationError, model: type[BaseModel], removed: Mapping[str, str] | None = None) -> Fault:
    """Return the first fault of an invalid table; an unknown key precedes a missing one, which it may have caused.

    Args: `removed`: replacements of entries or tables of earlier versions, by path.
    """
    problems = error.errors(include_url=False)
    problem = next((p for p in problems if p["type"] == "extra_forbidden"), problems[0])
    if problem["type"] == "literal_error" and isinstance(problem["input"], Mapping | list | tuple):
        # the entry may be a name, a table or a list; report the fault inside a table or list
        problem = max(problems, key=lambda p: len(p["loc"]))
    kind = str(problem["type"])
    path = _path_in_file(problem["loc"], model, kind == "extra_forbidden")
    if path[-1:] == ("[key]",):  # the key of a table with fixed keys
        return Fault(path[:-1], "unknown entry", suggest_name(str(path[-2]), re.findall(r"'([^']*)'", problem["msg"])))
    if kind == "extra_forbidden":
        inside = _type_at_path(model, path[:-1])
        fate = (removed or {}).get(".".join(str(part) for part in path))
        if fate:
            return Fault(path, fate, "Delete this entry." if "removed" in fate else "")
        known = _key_names(inside)
        homes = [section for section in known if path[-1] in _key_names(_entry_type(inside, section))]
        hint = (
            f"Did you mean an entry of a section? {', '.join(f'{section}.{path[-1]}' for section in homes)}."
            if homes
            else ""
        )
        return Fault(path, "unknown entry", hint or (suggest_name(str(path[-1]), known) if known else ""))
    if kind == "missing":
        return Fault(path, "it is missing", _field_description(model, path))
    if kind in ("value_error", "assertion_error"):
        return Fault(path, str(problem["ctx"]["error"]))
    if kind == "literal_error":
        others = {_EXPECTED[p["type"]] for p in problems if p["type"] in _PLURAL and p["loc"][: len(path)] == path}
        expected = " or ".join([problem["ctx"]["expected"], *sorted(others)])
        return Fault(path, f"expected {expected}, found {format_value(problem['input'])}")
    expected = _EXPECTED.get(kind, "")
    if kind in _NUMBERS:
        expected = _range_text(problem, model, path)
    if kind in ("too_short", "too_long"):
        expected = _list_length_text(problem, kind)
    if kind == "string_too_short":
        expected = "text that is not empty"
    if not expected:
        return Fault(path, f"{problem['msg']}, found {format_value(problem['input'])}")
    return Fault(path, f"expected {expected}, found {format_value(problem['input'])}", "")


def format_value(value: Any) -> str:
    """Return an invalid value as text for messages: as in TOML, on one line, at most 40 characters."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, str):
        text = repr(value)
    elif isinstance(value, int):
        text = str(value) if value.bit_length() < 64 else "a number of many digits"
    elif isinstance(value, Sequence):
        return f"a list of {len(value)}"
    else:
        text = f"{value:g}" if isinstance(value, float) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= 40 else f"{text[:40]}..."


def _range_text(problem: Mapping[str, Any], model: type[BaseModel], path: tuple[str | int, ...]) -> str:
    kind = str(problem["type"])
    field = _find_field(model, path)
    whole = kind.startswith("int") or (isinstance(field, FieldInfo) and field.annotation is int)
    limits = _range_limits(field.metadata if isinstance(field, FieldInfo) else getattr(field, "__metadata__", ()))
    words = ""
    if isinstance(field, FieldInfo) and not limits:  # a number or a word: `Annotated[float, ...] | Literal["auto"]`
        for option in get_args(field.annotation):
            limits |= _range_limits(getattr(option, "__metadata__", ()))
            words += "".join(f" or {word!r}" for word in get_args(option) if get_origin(option) is Literal)
    if not limits:
        limits = {key: value for key, value in problem.get("ctx", {}).items() if key in dict(_BOUNDS)}
    text = "a whole number" if whole else "a number"
    if kind == "finite_number" and not limits:
        return f"{text} that is finite"
    if "ge" in limits and "le" in limits:
        return f"{text} from {limits['ge']:g} to {limits['le']:g}{words}"
    return " ".join((text, " and ".join(f"{word} {limits[key]:g}" for key, word in _BOUNDS if key in limits))).strip()


def _range_limits(metadata: Sequence[Any]) -> dict[str, float]:
    limits: dict[str, float] = {}
    for rule in metadata:
        inner = rule.metadata if isinstance(rule, FieldInfo) else [rule]
        for part in inner:
            limits |= {key: getattr(part, key) for key, _ in _BOUNDS if getattr(part, key, None) is not None}
    return limits


def _list_length_text(problem: Mapping[str, Any], kind: str) -> str:
    context = problem["ctx"]
    count = context["min_length"] if kind == "too_short" else context["max_length"]
    return f"a list of {'at least' if kind == 'too_short' else 'at most'} {count}"


def _field_description(model: type[BaseModel], path: tuple[str | int, ...]) -> str:
    field = _find_field(model, path)
    return f"Expected: {field.description}." if isinstance(field, FieldInfo) and field.description else ""


@lru_cache(maxsize=64)
def require_valid_table(file: UserFile, kind: str) -> None:
    """Raise TableError with file, entry and key if a file is not a valid table of its kind."""
    # imported here, because most runs have no such table and pydantic models take time to build
    from biodyn.library.schema import SCHEMAS

    schema = SCHEMAS[kind]
    try:
        schema.model_validate(file.content)
    except ValidationError as error:
        fault = first_fault(error, schema)
        raise table_error(file, fault.path, fault.problem, fault.hint) from error


def table_error(file: UserFile, path: tuple[str | int, ...], problem: str, hint: str = "") -> TableError:
    """Return an error with file, entry (`[[marker]] 3 (LKNE)`) and key that describes the problem."""
    entry, key = _entry_location(file.content, path)
    where = ", ".join(filter(None, (f"'{file.path}'", entry, f"key '{key}'" if key else "")))
    return TableError(f"{where}: {problem.rstrip('.')}.", hint)


def _entry_location(content: dict[str, Any], path: tuple[str | int, ...]) -> tuple[str, str]:
    """Return the list entry on a path as text (e.g. "[[marker]] 3 (LKNE)"), and the key within this entry."""
    at = next((i for i, part in enumerate(path) if isinstance(part, int)), None)
    if at is None or at == 0 or not isinstance(content.get(str(path[0])), list):
        return "", ".".join(map(str, path))
    entries = content[str(path[0])]
    number = int(path[at])
    entry = entries[number] if at == 1 and number < len(entries) else None
    if not isinstance(entry, dict):
        return "", f"{path[0]}, number {number + 1}"
    named = entry.get("name", entry.get("labels", ""))
    words = ", ".join(map(str, named)) if isinstance(named, list) else str(named)
    below = [str(part + 1) if isinstance(part, int) else part for part in path[at + 1 :]]
    return f"[[{path[0]}]] {number + 1}" + (f" ({words[:60]})" if words else ""), ".".join(below)


# -- types of a model ----------------------------------------------------------------------------------


def _find_field(model: type[BaseModel], path: tuple[str | int, ...]) -> Any:
    """Return the field (or annotated type) at a path, None if it does not exist."""
    if not path:
        return None
    for option in _union_members(_type_at_path(model, path[:-1])):
        if _is_model(option) and path[-1] in _fields_by_key(option):
            return _fields_by_key(option)[str(path[-1])]
        arguments = get_args(option)
        if arguments:
            return arguments[0 if isinstance(path[-1], int) else -1]
    return None


def _type_at_path(annotation: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        annotation = _entry_type(annotation, part)
    return annotation


def _entry_type(annotation: Any, part: str | int) -> Any:
    """Return the type of the entry `part` of a model, a table or a list type."""
    for option in _union_members(annotation):
        if _is_model(option):
            if part in _fields_by_key(option):
                return _fields_by_key(option)[str(part)].annotation
            if issubclass(option, BaseModel) and "root" in option.model_fields:
                return _entry_type(option.model_fields["root"].annotation, part)
            continue
        plain = _without_metadata(option)
        origin = get_origin(plain)
        if isinstance(origin, type) and issubclass(origin, Mapping) == isinstance(part, str):
            return get_args(plain)[-1 if isinstance(part, str) else 0]
    return None


def _union_members(annotation: Any) -> tuple[Any, ...]:
    """Return the members of a union type, or the type itself for other types."""
    annotation = _without_metadata(annotation)
    if get_origin(annotation) in (Union, UnionType):
        return tuple(_without_metadata(option) for option in get_args(annotation))
    return (annotation,)


def _without_metadata(annotation: Any) -> Any:
    """Return the type without its `Annotated` metadata."""
    return get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _fields_by_key(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model by the keys that are used in a file."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _key_names(annotation: Any) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            key for option in _union_members(annotation) if _is_model(option) for key in _fields_by_key(option)
        )
    )


def _path_in_file(location: Sequence[str | int], model: type[BaseModel], unknown_key: bool) -> tuple[str | int, ...]:
    """Return an error location of pydantic without the parts that name a type (alternative of a union).

    unknown_key: whether the last part is a key that the model does not have.
    """
    path: list[str | int] = []
    inside: Any = model
    for k, part in enumerate(location):
        below = _entry_type(inside, part)
        if below is None and isinstance(part, str) and part != "[key]" and not (unknown_key and k == len(location) - 1):
            continue
        path.append(part)
        inside = below
    return tuple(path)
