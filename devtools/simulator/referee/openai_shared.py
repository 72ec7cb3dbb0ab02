"""Rules that OpenAI's two formats share."""

import re
from typing import Any

from devtools.simulator.problems import Problem, refuse
from devtools.simulator.wire import Json, arr, obj

_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_REASONING_MODEL = re.compile(r"^(o\d|gpt-5)(?!.*-chat)")


def missing(param: str) -> Problem:
    return refuse(f"Missing required parameter: '{param}'.", param=param, code="missing_required_parameter")


def wrong_type(param: str, expected: str, value: Any) -> Problem:
    return refuse(
        f"Invalid type for '{param}': expected {expected}, but got {json_type(value)} instead.",
        param=param,
        code="invalid_type",
    )


def wrong_value(param: str, value: Any, supported: list[str]) -> Problem:
    quoted = [f"'{name}'" for name in supported]
    listed = " and ".join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else quoted[0]
    return refuse(f"Invalid value: '{value}'. Supported values are: {listed}.", param=param, code="invalid_value")


def empty_array(param: str) -> Problem:
    return refuse(
        f"Invalid '{param}': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        param=param,
        code="empty_array",
    )


def json_type(value: Any) -> str:
    named = [(bool, "a boolean"), (int, "an integer"), (float, "a decimal"), (str, "a string"), (list, "an array")]
    if value is None:
        return "null"
    return next((name for kind, name in named if isinstance(value, kind)), "an object")


def check_length(param: str, value: str, longest: int) -> None:
    if len(value) > longest:
        raise refuse(
            f"Invalid '{param}': string too long. Expected a string with maximum length {longest}, but got a string "
            f"with length {len(value)} instead.",
            param=param,
            code="string_above_max_length",
        )


def check_function_name(param: str, name: Any) -> None:
    if name is None:
        raise missing(param)
    if not isinstance(name, str):
        raise wrong_type(param, "a string", name)
    check_length(param, name, 64)
    if not _NAME.fullmatch(name):
        raise refuse(
            f"Invalid '{param}': string does not match pattern. Expected a string that matches the pattern "
            "'^[a-zA-Z0-9_-]+$'.",
            param=param,
            code="invalid_value",
        )


def check_function_schema(param: str, name: str, schema: Any, *, strict: bool) -> None:
    if schema is None:
        return
    if not isinstance(schema, dict):
        raise wrong_type(param, "an object", schema)
    described = obj(schema)
    if described.get("type") != "object":
        raise _bad_schema(
            param,
            name,
            f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{described.get('type')}\"'",
        )
    if strict:
        _check_strict_schema(param, name, described, ())


def _check_strict_schema(param: str, name: str, schema: Json, context: tuple[str, ...]) -> None:
    if schema.get("type") == "object":
        properties = obj(schema.get("properties"))
        if schema.get("additionalProperties") is not False:
            raise _bad_schema(
                param,
                name,
                f"In context={context}, 'additionalProperties' is required to be supplied and to be false",
            )
        absent = [key for key in properties if key not in arr(schema.get("required"))]
        if absent:
            raise _bad_schema(
                param,
                name,
                f"In context={context}, 'required' is required to be supplied and to be an array including every "
                f"key in properties. Missing '{absent[0]}'",
            )
        for key, value in properties.items():
            _check_strict_schema(param, name, obj(value), (*context, "properties", key))
    elif schema.get("type") == "array":
        _check_strict_schema(param, name, obj(schema.get("items")), (*context, "items"))


def _bad_schema(param: str, name: str, complaint: str) -> Problem:
    return refuse(
        f"Invalid schema for function '{name}': {complaint}.", param=param, code="invalid_function_parameters"
    )


def is_reasoning_model(model: str) -> bool:
    return bool(_REASONING_MODEL.match(model))
