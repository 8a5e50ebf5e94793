"""The shim that holds one agent process on a pty."""
