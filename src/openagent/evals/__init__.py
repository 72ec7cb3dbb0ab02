"""Evaluations: what agents are worth, over the client, by tests that run in the jail"""
