"""The function space itself: functions, embeddings and operators."""
