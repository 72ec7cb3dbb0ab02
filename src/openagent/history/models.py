"""A model's name as another agent has it, as provider/model."""

_BY_BEGINNING = (
    ("claude", "anthropic"),
    ("gpt", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("codex", "openai"),
    ("chatgpt", "openai"),
    ("gemini", "gemini"),
    ("gemma", "gemini"),
    ("deepseek", "deepseek"),
    ("grok", "x-ai"),
    ("kimi", "moonshotai"),
    ("glm", "zai"),
    ("mistral", "mistral"),
    ("codestral", "mistral"),
    ("devstral", "mistral"),
)
_SAME = {
    "google": "gemini",
    "google-vertex": "gemini",
    "vertex_ai": "gemini",
    "gcp_vertex_ai": "gemini",
    "google-vertex-anthropic": "anthropic",
    "xai": "x-ai",
    "databricks": "databricks",
    "amazon-bedrock": "aws",
    "bedrock": "aws",
    "aws_bedrock": "aws",
    "azure_openai": "azure",
    "moonshot": "moonshotai",
    "zai-coding-plan": "zai",
    "github_copilot": "github-copilot",
}


def full_name(model: str, provider: str = "") -> str:
    """`provider` is theirs; empty: told by the name."""
    if not provider and "/" in model:
        provider, _, model = model.partition("/")
    if not provider:
        small = model.lower().rpartition(".")[2] if model.count(".") > 1 else model.lower()
        provider = next((owner for begin, owner in _BY_BEGINNING if small.startswith(begin)), "unknown")
    return f"{_SAME.get(provider, provider)}/{model}"
