"""The words of kasmos: pydantic models and enums. No I/O; imports nothing else of ours.

A word is chosen here first; SQL, JSON, TypeScript and prose use the same one.
"""
