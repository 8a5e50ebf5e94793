"""Serve and the daemon as services of the user: systemd units and launchd agents."""
