"""One file per subject: turns ops about keys, usage and models into calls of the rooms. Only `app` knows them."""
