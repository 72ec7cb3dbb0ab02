"""What OpenAI's two formats share: errors, headers, model lists; and Azure's variations on them."""

import time

from devtools.simulator.problems import Kind, Problem
from devtools.simulator.wire import Call, ErrorAnswer, Json, string

_STATUS: dict[Kind, int] = {
    "invalid_request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "too_large": 413,
    "rate_limit": 429,
    "quota": 429,
    "server_error": 500,
    "overloaded": 503,
    "context_too_long": 400,
}

_TYPE: dict[Kind, str] = {
    "forbidden": "request_forbidden",
    "rate_limit": "tokens",
    "quota": "insufficient_quota",
    "server_error": "server_error",
    "overloaded": "server_error",
}

_CODE: dict[Kind, str] = {
    "unauthorized": "invalid_api_key",
    "forbidden": "unsupported_country_region_territory",
    "not_found": "model_not_found",
    "rate_limit": "rate_limit_exceeded",
    "quota": "insufficient_quota",
    "context_too_long": "context_length_exceeded",
}

_AZURE_CODE: dict[Kind, str] = {
    "unauthorized": "401",
    "forbidden": "403",
    "not_found": "DeploymentNotFound",
    "rate_limit": "429",
    "quota": "429",
    "server_error": "InternalServerError",
    "overloaded": "ServiceUnavailable",
}

_AZURE_MESSAGE: dict[Kind, str] = {
    "unauthorized": "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a "
    "valid key for an active subscription and use a correct regional API endpoint for your resource.",
    "forbidden": "Access denied due to Virtual Network/Firewall rules.",
    "not_found": "The API deployment for this resource does not exist. If you created the deployment within the "
    "last 5 minutes, please wait a moment and try again.",
    "rate_limit": "Requests to the ChatCompletions_Create Operation under Azure OpenAI API have exceeded token rate "
    "limit of your current OpenAI S0 pricing tier. Please retry after {retry_after} seconds.",
    "quota": "Requests have exceeded call rate limit of your current OpenAI S0 pricing tier. Please go here: "
    "https://aka.ms/oai/quotaincrease if you would like to further increase the default rate limit.",
}


def is_azure(call: Call) -> bool:
    return "/openai/deployments/" in call.path or "/openai/v1/" in call.path


def model_of(call: Call) -> str:
    """The body's model; Azure deployments carry theirs in the path."""
    deployment = call.path.partition("/openai/deployments/")[2].partition("/")[0]
    return deployment or string(call.body.get("model"))


def request_headers(call: Call) -> dict[str, str]:
    headers = {
        "x-request-id": f"req_{call.serial:032x}",
        "x-ratelimit-limit-requests": "10000",
        "x-ratelimit-remaining-requests": "9999",
        "x-ratelimit-reset-requests": "6ms",
        "x-ratelimit-limit-tokens": "2000000",
        "x-ratelimit-remaining-tokens": "1999000",
        "x-ratelimit-reset-tokens": "30ms",
    }
    if is_azure(call):
        return {"apim-request-id": f"{call.serial:032x}", "x-ms-region": "Simulated", **headers}
    return {"openai-version": "2020-10-01", "openai-processing-ms": "1", **headers}


def _usual_message(problem: Problem, call: Call, context_message: str) -> str:
    wait = f"{problem.retry_after or 1:g}"
    messages: dict[Kind, str] = {
        "invalid_request": "Invalid request.",
        "unauthorized": "Incorrect API key provided: sk-*****. You can find your API key at "
        "https://platform.openai.com/account/api-keys.",
        "forbidden": "Country, region, or territory not supported",
        "not_found": f"The model `{model_of(call)}` does not exist or you do not have access to it.",
        "method_not_allowed": f"Not allowed to {call.method} on {call.path}. (HINT: Perhaps you meant to use a "
        "different HTTP method?)",
        "too_large": "Request body too large.",
        "rate_limit": f"Rate limit reached for {model_of(call)} in organization org-simulated on tokens per min "
        f"(TPM): Limit 30000, Used 29900, Requested 600. Please try again in {wait}s. Visit "
        "https://platform.openai.com/account/rate-limits to learn more.",
        "quota": "You exceeded your current quota, please check your plan and billing details. For more information "
        "on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
        "server_error": "The server had an error while processing your request. Sorry about that! You can retry your "
        "request, or contact us through our help center at help.openai.com if the error persists. (Please include "
        f"the request ID req_{call.serial:032x} in your message.)",
        "overloaded": "The engine is currently overloaded, please try again later.",
        "context_too_long": context_message,
    }
    return messages[problem.kind]


def error_object(problem: Problem, call: Call, context_message: str, context_param: str) -> Json:
    param = context_param if problem.kind == "context_too_long" else problem.param
    if is_azure(call) and problem.kind in _AZURE_CODE:
        usual = _AZURE_MESSAGE.get(problem.kind) or _usual_message(problem, call, context_message)
        message = problem.message or usual.format(retry_after=f"{problem.retry_after or 1:g}")
        return {"code": _AZURE_CODE[problem.kind], "message": message}
    return {
        "message": problem.message or _usual_message(problem, call, context_message),
        "type": _TYPE.get(problem.kind, "invalid_request_error"),
        "param": param,
        "code": problem.code or _CODE.get(problem.kind),
    }


def error_answer(problem: Problem, call: Call, error: Json) -> ErrorAnswer:
    headers = request_headers(call)
    if problem.kind == "rate_limit":
        headers["x-ratelimit-remaining-tokens"] = "0"
        headers["x-ratelimit-reset-tokens"] = f"{problem.retry_after or 1:g}s"
    if problem.retry_after is not None:
        headers["retry-after"] = f"{problem.retry_after:g}"
        headers["retry-after-ms"] = str(round(problem.retry_after * 1000))
    return ErrorAnswer(problem.status or _STATUS[problem.kind], headers, {"error": error})


def model_list(names: list[str]) -> Json:
    return {"object": "list", "data": [model_entry(name) for name in names]}


def model_entry(name: str) -> Json:
    return {"id": name, "object": "model", "created": 1735689600, "owned_by": "system"}


def now() -> int:
    return int(time.time())
