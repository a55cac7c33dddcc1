"""Messages of a .b3d archive as classes that parse bytes, made of the fields that `library/formats/b3d.toml` lists."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from biodyn.library.load import load_table

_PACKAGE: Final = "biodyn_b3d"


@cache
def message_class(name: str) -> Any:
    """Return the class of a message; `cls.FromString(bytes)` raises `google.protobuf.message.DecodeError` for others' bytes."""
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{_PACKAGE}.{name}"))


@cache
def _pool() -> Any:
    # The library is loaded for these files alone.
    from google.protobuf import descriptor_pb2, descriptor_pool

    file = descriptor_pb2.FileDescriptorProto(name=f"{_PACKAGE}.proto", package=_PACKAGE, syntax="proto3")
    field_class = descriptor_pb2.FieldDescriptorProto
    for message, fields in load_table("formats/b3d")["message"].items():
        described = file.message_type.add(name=message)
        for name, (number, kind) in fields.items():
            several, plain = kind.startswith("["), kind.strip("[]")
            field = described.field.add(name=name, number=number)
            field.label = field_class.LABEL_REPEATED if several else field_class.LABEL_OPTIONAL
            if plain[0].isupper():
                field.type, field.type_name = field_class.TYPE_MESSAGE, f".{_PACKAGE}.{plain}"
            else:
                field.type = getattr(field_class, f"TYPE_{plain.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool
