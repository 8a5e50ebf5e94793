"""Serve and the daemon as services of the user: systemd units and launchd agents."""

from kasmos_plugin.services.state import ServiceState, status

__all__ = ["ServiceState", "status"]
