"""The five source systems, each with its recipe and the parts that only it has. They are plug-ins of our own."""
