"""Learning from use: a reranker for each namespace, trained on which returned memories were used (E5)."""
