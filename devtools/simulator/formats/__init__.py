"""One file per wire format: how a request is read, and how an answer or an error looks."""
