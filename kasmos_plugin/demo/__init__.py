"""A small real orchestration: a temporary repository, scripted agents, one plan."""
