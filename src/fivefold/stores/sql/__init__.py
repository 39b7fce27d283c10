"""The parts shared by the SQL stores: statements written once and run by both SQLite and PostgreSQL."""
