"""The version of this package; pyproject.toml has the same."""

VERSION = "0.3.0"
