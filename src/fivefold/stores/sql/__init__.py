"""What the SQL stores share: statements written once, run by SQLite and PostgreSQL alike."""
