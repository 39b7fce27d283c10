"""fivefold next to other engines: the same memories, vectors and questions, each engine in a process of its own."""
