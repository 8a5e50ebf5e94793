"""The Codex client of this user: its configuration, its plugins, and ours among them."""
