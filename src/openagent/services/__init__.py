"""One file per subject: turns ops about keys, models, rules and the like into calls of the rooms. Only `app` knows them."""
