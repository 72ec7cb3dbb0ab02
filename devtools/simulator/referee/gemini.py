"""What Gemini's generateContent refuses."""

import base64
import re

from devtools.simulator import marks
from devtools.simulator.problems import Problem, refuse
from devtools.simulator.wire import Json, arr, first_of, obj, string, words

_KNOWN_FIELDS = frozenset(
    words(
        "contents tools toolConfig tool_config safetySettings safety_settings systemInstruction system_instruction "
        "generationConfig generation_config cachedContent cached_content labels model store serviceTier service_tier"
    )
)
_SCHEMA_FIELDS = frozenset(
    words(
        "type format title description nullable enum items maxItems minItems properties required minProperties "
        "maxProperties minLength maxLength pattern example anyOf propertyOrdering default minimum maximum max_items "
        "min_items min_properties max_properties min_length max_length any_of property_ordering additionalProperties "
        "additional_properties ref defs $ref $defs"
    )
)
_PART_DATA = words(
    "text inlineData inline_data functionCall function_call functionResponse function_response fileData file_data "
    "executableCode executable_code codeExecutionResult code_execution_result toolCall toolResponse"
)
_FUNCTION_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_SIGNING_MODEL = re.compile(r"gemini-([3-9]|\d\d)")
_SKIP_SIGNATURE = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
"""Google documents these for histories that another model wrote."""


def check(body: Json, *, model: str, vertex: bool, own_signatures: frozenset[str]) -> None:
    for name in body:
        if name not in _KNOWN_FIELDS:
            raise _unknown_name(name, "")
    contents = [obj(content) for content in arr(body.get("contents"))]
    if not contents:
        raise refuse("* GenerateContentRequest.contents: contents is not specified\n")
    _check_declarations(body)
    for index, content in enumerate(contents):
        _check_content(content, index, vertex=vertex)
    _check_function_turns(contents)
    if contents[-1].get("role") == "model":
        raise refuse("Please ensure that multiturn requests end with a user role or a function response.")
    if _SIGNING_MODEL.match(model):
        _check_signatures(contents, own_signatures)


def _unknown_name(name: str, where: str) -> Problem:
    place = f" at '{where}'" if where else ""
    return refuse(f'Invalid JSON payload received. Unknown name "{name}"{place}: Cannot find field.')


def _check_declarations(body: Json) -> None:
    names: set[str] = set()
    for index, tool in enumerate(map(obj, arr(body.get("tools")))):
        declared = arr(first_of(tool, "functionDeclarations", "function_declarations"))
        for place, function in enumerate(map(obj, declared)):
            where = f"tools[{index}].function_declarations[{place}]"
            name = string(function.get("name"))
            if not _FUNCTION_NAME.fullmatch(name):
                raise refuse(
                    f"* GenerateContentRequest.{where}.name: Invalid function name. Must start with a letter or an "
                    "underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or "
                    "dashes (-), with a maximum length of 64.\n"
                )
            if name in names:
                raise refuse(f"Duplicate function declaration found: {name}")
            names.add(name)
            free_form = first_of(function, "parametersJsonSchema", "parameters_json_schema")
            if free_form is not None and function.get("parameters") is not None:
                raise refuse(f"{where}: only one of parameters and parameters_json_schema may be set.")
            if function.get("parameters") is not None:
                _check_schema(obj(function["parameters"]), f"{where}.parameters")


def _check_schema(schema: Json, where: str) -> None:
    """`parameters` is Google's own Schema message, not JSON Schema."""
    for name in schema:
        if name not in _SCHEMA_FIELDS:
            raise _unknown_name(name, where)
    kind = schema.get("type")
    if isinstance(kind, list):
        raise refuse(
            f"Invalid JSON payload received. Unknown name \"type\" at '{where}': Proto field is not repeating, cannot "
            "start list."
        )
    kind = string(kind).upper()
    if kind == "ARRAY" and not obj(schema.get("items")):
        raise refuse(f"* GenerateContentRequest.{where}.items: missing field.\n")
    properties = obj(schema.get("properties"))
    for index, name in enumerate(arr(schema.get("required"))):
        if string(name) not in properties:
            raise refuse(f"* GenerateContentRequest.{where}.required[{index}]: property is not defined\n")
    for name, value in properties.items():
        _check_schema(obj(value), f"{where}.properties[{name}]")
    if schema.get("items") is not None:
        _check_schema(obj(schema["items"]), f"{where}.items")
    for index, value in enumerate(arr(first_of(schema, "anyOf", "any_of"))):
        _check_schema(obj(value), f"{where}.any_of[{index}]")


def _check_content(content: Json, index: int, *, vertex: bool) -> None:
    role = content.get("role", "user")
    if role not in ("user", "model", "function"):
        raise refuse("Please use a valid role: user, model.")
    parts = arr(content.get("parts"))
    if not parts:
        raise refuse(f"* GenerateContentRequest.contents[{index}].parts: contents.parts must not be empty.\n")
    for place, part in enumerate(map(obj, parts)):
        where = f"contents[{index}].parts[{place}]"
        if not any(name in part for name in _PART_DATA):
            raise _no_data(where)
        signed = first_of(part, "thoughtSignature", "thought_signature") is not None
        if part.get("text") == "" and not signed:
            if vertex:
                raise refuse(
                    "Unable to submit request because it has an empty text parameter. Add a value to the parameter and "
                    "try again."
                )
            raise _no_data(where)
        _check_function_part(part, where, role)


def _no_data(where: str) -> Problem:
    return refuse(
        f"* GenerateContentRequest.{where}.data: required oneof field 'data' must have one initialized field\n"
    )


def _check_function_part(part: Json, where: str, role: str) -> None:
    call = first_of(part, "functionCall", "function_call")
    response = first_of(part, "functionResponse", "function_response")
    for field, value, contained in (
        ("function_call", call, "args"),
        ("function_response", response, "response"),
    ):
        if value is None:
            continue
        if not string(obj(value).get("name")):
            raise refuse(f"* GenerateContentRequest.{where}.{field}.name: [REQUIRED_FIELD_MISSING]\n")
        inner = obj(value).get(contained)
        if inner is not None and not isinstance(inner, dict):
            raise refuse(
                f"Invalid value at '{where}.{field}.{contained}' (type.googleapis.com/google.protobuf.Struct), "
                f"{inner!r}"
            )
    if call is not None and role != "model":
        raise refuse("Please ensure that function call turns use the model role.")
    if response is not None and role == "model":
        raise refuse("Please ensure that function response turns use the user or function role.")


def _functions(content: Json, *names: str) -> list[Json]:
    parts = [obj(part) for part in arr(content.get("parts"))]
    return [obj(first_of(part, *names)) for part in parts if first_of(part, *names) is not None]


def _check_function_turns(contents: list[Json]) -> None:
    for index, content in enumerate(contents):
        calls = _functions(content, "functionCall", "function_call")
        responses = _functions(content, "functionResponse", "function_response")
        previous = contents[index - 1] if index else {}
        if calls:
            if index == 0 or previous.get("role") == "model":
                raise refuse(
                    "Please ensure that function call turn comes immediately after a user turn or after a function "
                    "response turn."
                )
            following = contents[index + 1] if index + 1 < len(contents) else {}
            answered = _functions(following, "functionResponse", "function_response")
            if len(answered) != len(calls):
                raise refuse(
                    "Please ensure that the number of function response parts is equal to the number of function call "
                    "parts of the function call turn."
                )
            _check_names(calls, answered)
        if responses and not _functions(previous, "functionCall", "function_call"):
            raise refuse("Please ensure that function response turn comes immediately after a function call turn.")


def _check_names(calls: list[Json], answered: list[Json]) -> None:
    called = sorted(string(call.get("name")) for call in calls)
    responded = sorted(string(response.get("name")) for response in answered)
    if called != responded:
        raise refuse(
            "Please ensure that function response names match the function call names of the function call turn."
        )


def _check_signatures(contents: list[Json], own_signatures: frozenset[str]) -> None:
    """Gemini 3 checks the calls of the turn that is still running: since the last message of a person."""
    started = 0
    for index, content in enumerate(contents):
        if content.get("role") != "model" and not _functions(content, "functionResponse", "function_response"):
            started = index
    for index, content in enumerate(contents[started:], start=started):
        parts = arr(content.get("parts"))
        calling = [part for part in map(obj, parts) if first_of(part, "functionCall", "function_call") is not None]
        if not calling:
            continue
        part = calling[0]
        signature = string(first_of(part, "thoughtSignature", "thought_signature"))
        name = string(obj(first_of(part, "functionCall", "function_call")).get("name"))
        if not signature:
            raise refuse(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                "work correctly, and missing thought_signature may lead to degraded model performance. Additional "
                f"data, function call `default_api:{name}` , position {index + 1}. Please refer to "
                "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            )
        if signature not in own_signatures and not _skips(signature) and marks.read_signature(signature) is None:
            raise refuse("Thought signature is not valid.")


def _skips(signature: str) -> bool:
    """Either word as it is, or as a client sends it that holds signatures as bytes."""
    encoded = [base64.b64encode(word.encode()).decode().rstrip("=") for word in _SKIP_SIGNATURE]
    return signature in _SKIP_SIGNATURE or signature.rstrip("=").replace("-", "+").replace("_", "/") in encoded
