"""MCP, HTTP bridge and monitor page: `kas serve`."""
