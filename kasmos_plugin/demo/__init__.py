"""A small real orchestration: one task, five subtasks, scripted agents in real processes.

`play` is the plot, `stage` the repository and the commands, `servers` what a demo of its own brings
up, `worker` the program that every agent runs. It uses public commands alone, as a person would.
"""
