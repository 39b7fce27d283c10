"""A write from record to report. Start reading in `pipeline.py`."""
