"""What REST, MCP and the inspector share: engines, keys, audit, limits."""
