"""The shim that holds one agent's process on a pty."""
