"""From a model's name to the provider that answers: the catalog, keys and logins, offline models."""
