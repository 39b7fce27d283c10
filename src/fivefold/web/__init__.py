"""fivefold as a service: REST, MCP over HTTP and the inspector, all on one `Service`."""
