"""Evaluations of agents, run over the client."""
