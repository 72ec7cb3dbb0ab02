"""What a model is shown beside the conversation, and what was taken out of it."""
