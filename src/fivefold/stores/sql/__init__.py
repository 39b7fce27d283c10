"""What the SQL stores share: statements written once and run by both SQLite and PostgreSQL."""
