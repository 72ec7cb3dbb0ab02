"""Tokens and money: counting, prices, budgets, the journal, cache misses and reports."""
