"""The daemon: the registry of repositories and agents, their health, the event stream."""
