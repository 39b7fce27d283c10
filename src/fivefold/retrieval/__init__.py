"""A recall from question to answer. Start reading in `pipeline.py`."""
