"""The parts shared by REST, MCP and the inspector: engines, keys, audit, limits."""
