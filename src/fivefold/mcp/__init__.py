"""fivefold for models that call tools: the Model Context Protocol over standard streams and over HTTP."""
