"""The PostgreSQL store: pgvector for vectors, BM25 in SQL for words, on one server, with replicas, or on Citus."""
