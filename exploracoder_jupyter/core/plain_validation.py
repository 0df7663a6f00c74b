"""Reads and writes messages with the standard library alone, for kernels whose environment does not have pydantic.

Has the names of pydantic that `core.validation` exports, with as much of their behaviour as the kernel side uses: its
types are dataclasses, models, unions, literals, lists, tuples, dicts, texts and numbers. The engine validates again,
with pydantic, what it receives. Tests compare the two for every type that the kernel side reads.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    NoReturn,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

T = TypeVar("T")
Location = tuple[str | int, ...]
Parser = Callable[[Any, Location], Any]

JsonValue = Any
ConfigDict = dict

_MISSING: Final = object()
_TRUE: Final = ("1", "true", "t", "yes", "y", "on")
_FALSE: Final = ("0", "false", "f", "no", "n", "off")
_BOUNDS: Final[dict[str, tuple[str, Callable[[float, float], bool]]]] = {
    "ge": ("greater than or equal to", lambda value, bound: value >= bound),
    "gt": ("greater than", lambda value, bound: value > bound),
    "le": ("less than or equal to", lambda value, bound: value <= bound),
}


class ValidationError(ValueError):
    """A value does not have the expected type. Only the first fault is known."""

    def __init__(self, kind: str, message: str, value: object, location: Location = ()) -> None:
        super().__init__(f"{'.'.join(map(str, location))}: {message}")
        self._fault = {"type": kind, "msg": message, "input": value, "loc": location}

    def errors(self) -> list[dict[str, Any]]:
        """Return the fault as pydantic describes it: `type`, `msg`, `input` and `loc`."""
        return [self._fault]


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """Annotates a union with the name of the field that tells its members apart."""

    discriminator: str


class SecretStr:
    """A text that is not displayed."""

    def __init__(self, value: str) -> None:
        self._value = value

    def get_secret_value(self) -> str:
        """Return the text."""
        return self._value

    def __len__(self) -> int:
        return len(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretStr) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return f"SecretStr({str(self)!r})"

    def __str__(self) -> str:
        return "*" * 10 if self._value else ""


class BaseModel:
    """A message: its fields are the annotated names of its class. Frozen."""

    model_config: ClassVar[dict[str, Any]] = {}

    def __init__(self, **values: Any) -> None:
        """Raises ValidationError: a field is missing or has another type."""
        self.__dict__.update(_read_fields(type(self), values, ()))

    @classmethod
    def model_validate(cls, value: object) -> Self:
        """Make a model of a mapping. Raises ValidationError."""
        found: Self = _object_parser(cls)(value, ())
        return found

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self:
        """Return a copy with these fields, which are not validated."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__, **(update or {}))
        return copied

    def model_dump(self, *, mode: str = "json") -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {name: _dump(value) for name, value in self.__dict__.items()}

    def model_dump_json(self) -> str:
        """Return the model as one line of JSON."""
        return _to_line(self)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise ValidationError("frozen_instance", "Instance is frozen", value, (name,))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"


class TypeAdapter(Generic[T]):
    """Reads and writes values of one type."""

    def __init__(self, type_: Any) -> None:
        self._type = type_

    def validate_python(self, value: object) -> T:
        """Make a value of this type of JSON values. Raises ValidationError."""
        found: T = _parser(self._type)(value, ())
        return found

    def validate_json(self, line: str | bytes) -> T:
        """Make a value of this type of a line of JSON. Raises ValidationError."""
        try:
            value = json.loads(line)
        except ValueError as error:
            raise ValidationError("json_invalid", f"Invalid JSON: {error}", line) from None
        return self.validate_python(value)

    def dump_python(self, value: T, *, mode: str = "json") -> Any:
        """Return the value as JSON values."""
        return _dump(value)

    def dump_json(self, value: T) -> bytes:
        """Return the value as one line of JSON."""
        return _to_line(value).encode()


def _to_line(value: object) -> str:
    return json.dumps(_dump(value), ensure_ascii=False, separators=(",", ":"))


def _dump(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None  # as pydantic does: JSON has no other numbers
    if isinstance(value, BaseModel):
        return value.model_dump()
    if dataclasses.is_dataclass(value):
        return {field.name: _dump(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _dump(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_dump(inner) for inner in value]
    if isinstance(value, SecretStr):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


# A parser takes a value and its location, and returns the value of its type, or raises ValidationError. Numbers may be
# written as text, because environment variables are texts.


@cache
def _parser(type_: Any) -> Parser:
    """Return the parser of a type. Raises TypeError for a type that the kernel side does not use."""
    origin, arguments = get_origin(type_), get_args(type_)
    if origin is Annotated:
        return _annotated_parser(arguments[0], arguments[1:])
    if origin is Literal:
        return _literal_parser(arguments)
    if origin in (Union, types.UnionType):
        return _union_parser(arguments)
    if origin is list or (origin is tuple and arguments[1:] == (...,)):
        return _sequence_parser(origin, arguments[0])
    if origin is tuple:
        return _fixed_tuple_parser(arguments)
    if origin is dict:
        return _dict_parser(arguments[1])
    if type_ in _SIMPLE or str(type_) == "JsonValue":  # pydantic's, in a module that was imported with it
        return _SIMPLE.get(type_, _SIMPLE[Any])
    if isinstance(type_, type) and (issubclass(type_, BaseModel) or dataclasses.is_dataclass(type_)):
        return _object_parser(type_)
    raise TypeError(f"{type_!r} cannot be read without pydantic")


def _annotated_parser(inner: Any, notes: tuple[Any, ...]) -> Parser:
    for note in notes:
        if name := getattr(note, "discriminator", None):
            return _discriminated_parser(get_args(inner), name)
    bounds = [
        (name, getattr(note, name)) for note in notes for name in _BOUNDS if getattr(note, name, None) is not None
    ]
    parse = _parser(inner)

    def read(value: Any, location: Location) -> Any:
        found = parse(value, location)
        for name, bound in bounds:
            words, holds = _BOUNDS[name]
            if found is not None and not holds(found, bound):
                kind = words.replace(" ", "_").replace("_or_equal_to", "_equal")
                raise ValidationError(kind, f"Input should be {words} {bound:g}", value, location)
        return found

    return read


def _discriminated_parser(members: tuple[Any, ...], name: str) -> Parser:
    tags = {tag: member for member in members for tag in get_args(_hints(member)[name])}

    def read(value: Any, location: Location) -> Any:
        tag = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
        if not isinstance(tag, str) or tag not in tags:
            expected = ", ".join(map(repr, tags))
            raise ValidationError("union_tag_invalid", f"Input should have the {name} {expected}", value, location)
        return _parser(tags[tag])(value, location)

    return read


def _literal_parser(choices: tuple[Any, ...]) -> Parser:
    *first, last = map(repr, choices)
    expected = f"{', '.join(first)} or {last}" if first else last

    def read(value: Any, location: Location) -> Any:
        if not any(type(value) is type(choice) and value == choice for choice in choices):
            raise ValidationError("literal_error", f"Input should be {expected}", value, location)
        return value

    return read


def _union_parser(members: tuple[Any, ...]) -> Parser:
    def read(value: Any, location: Location) -> Any:
        found, fault = [], None
        for member in members:
            try:
                found.append(_parser(member)(value, location))
            except ValidationError as error:
                fault = fault or error
        if not found and fault:
            raise fault
        return next((one for one in found if type(one) is type(value)), found[0])

    return read


def _sequence_parser(kind: type, inner: Any) -> Parser:
    parse = _parser(inner)

    def read(value: Any, location: Location) -> Any:
        items = _items(value, kind, location)
        return kind(parse(item, (*location, index)) for index, item in enumerate(items))

    return read


def _fixed_tuple_parser(members: tuple[Any, ...]) -> Parser:
    parsers = [_parser(member) for member in members]

    def read(value: Any, location: Location) -> Any:
        items = _items(value, tuple, location)
        if len(items) != len(parsers):
            raise ValidationError("tuple_length", f"Tuple should have {len(parsers)} items", value, location)
        return tuple(
            parse(item, (*location, index)) for index, (parse, item) in enumerate(zip(parsers, items, strict=True))
        )

    return read


def _items(value: Any, kind: type, location: Location) -> list[Any] | tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise ValidationError(f"{kind.__name__}_type", f"Input should be a valid {kind.__name__}", value, location)
    return value


def _dict_parser(inner: Any) -> Parser:
    parse = _parser(inner)

    def read(value: Any, location: Location) -> Any:
        if not isinstance(value, Mapping):
            raise ValidationError("dict_type", "Input should be a valid dictionary", value, location)
        for name in value:
            _read_text(name, (*location, name, "[key]"))
        return {name: parse(item, (*location, name)) for name, item in value.items()}

    return read


def _object_parser(kind: type) -> Parser:
    def read(value: Any, location: Location) -> Any:
        if isinstance(value, kind):
            return value
        if not isinstance(value, Mapping):
            message = f"Input should be a dictionary or an instance of {kind.__name__}"
            raise ValidationError("object_type", message, value, location)
        fields = _read_fields(kind, value, location)
        if not issubclass(kind, BaseModel):
            return kind(**fields)
        made = object.__new__(kind)
        made.__dict__.update(fields)
        return made

    return read


def _read_fields(kind: type, values: Mapping[str, Any], location: Location) -> dict[str, Any]:
    found, hints = {}, _hints(kind)
    for name, hint in hints.items():
        if name in values:
            found[name] = _parser(hint)(values[name], (*location, name))
        elif (default := _default(kind, name)) is not _MISSING:
            found[name] = default
        else:
            raise ValidationError("missing", "Field required", dict(values), (*location, name))
    if getattr(kind, "__pydantic_config__", {}).get("extra") == "forbid":
        for name in values.keys() - hints.keys():
            where = (*location, name)
            raise ValidationError("unexpected_keyword_argument", "Unexpected keyword argument", values[name], where)
    return found


@cache
def _hints(kind: type) -> dict[str, Any]:
    """Return the types of the fields; a type that is annotated as a text is found where its class was defined."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar and hint is not ClassVar}


def _default(kind: Any, name: str) -> Any:
    if issubclass(kind, BaseModel):
        return copy.deepcopy(getattr(kind, name, _MISSING))
    field = next(field for field in dataclasses.fields(kind) if field.name == name)
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return _MISSING if field.default is dataclasses.MISSING else field.default


def _read_text(value: Any, location: Location) -> str:
    if not isinstance(value, str):
        raise ValidationError("string_type", "Input should be a valid string", value, location)
    return value


def _read_secret(value: Any, location: Location) -> SecretStr:
    return value if isinstance(value, SecretStr) else SecretStr(_read_text(value, location))


def _read_whole(value: Any, location: Location) -> int:
    number = _read_number(value, location, "a valid integer", "int", "an integer")
    if not number.is_integer():
        message = "Input should be a valid integer, got a number with a fractional part"
        raise ValidationError("int_from_float", message, value, location)
    return int(value) if isinstance(value, int) else int(number)


def _read_float(value: Any, location: Location) -> float:
    return _read_number(value, location, "a valid number", "float", "a number")


def _read_number(value: Any, location: Location, expected: str, kind: str, what: str) -> float:
    if isinstance(value, int | float):
        return float(value)
    if not isinstance(value, str):
        raise ValidationError(f"{kind}_type", f"Input should be {expected}", value, location)
    try:
        return float(value)
    except ValueError:
        message = f"Input should be {expected}, unable to parse string as {what}"
        raise ValidationError(f"{kind}_parsing", message, value, location) from None


def _read_flag(value: Any, location: Location) -> bool:
    text = str(int(value)) if isinstance(value, int) else value.lower() if isinstance(value, str) else ""
    if text not in (*_TRUE, *_FALSE):
        kind, hint = ("bool_parsing", ", unable to interpret input") if text else ("bool_type", "")
        raise ValidationError(kind, f"Input should be a valid boolean{hint}", value, location)
    return text in _TRUE


def _read_nothing(value: Any, location: Location) -> None:
    if value is not None:
        raise ValidationError("none_required", "Input should be None", value, location)


_SIMPLE: Final[dict[Any, Parser]] = {
    Any: lambda value, location: value,
    str: _read_text,
    int: _read_whole,
    float: _read_float,
    bool: _read_flag,
    types.NoneType: _read_nothing,
    SecretStr: _read_secret,
}
