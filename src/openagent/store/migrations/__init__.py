"""Alembic's environment: `env.py` and one file per revision under `versions/`."""
