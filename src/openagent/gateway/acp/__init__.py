"""The Agent Client Protocol, version 1: what editors speak with agents, as JSON-RPC on stdio."""
