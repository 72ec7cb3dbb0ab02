"""What a model may call: one file per built-in tool."""
