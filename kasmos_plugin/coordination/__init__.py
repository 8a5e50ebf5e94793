"""What a coordinating agent can ask and do, whatever carries it: one table of small operations.

Knows the store and the daemon's door; knows no MCP, no HTTP route and no widget.
"""
