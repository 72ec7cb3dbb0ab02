"""Encrypted credentials, and the redactor that keeps them out of logs and errors."""
