"""One file per subject: turns ops about keys, models, rules and more into calls of the rooms. Only `app` knows them."""
