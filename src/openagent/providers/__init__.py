"""Model providers: one file per wire format, and the layers that make them resilient."""
