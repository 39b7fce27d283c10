"""The models that run on this machine or behind an address: embedders, rerankers, predicted weights."""
