"""The daemon: the registry of repositories and agents, their health, the event stream.

    shim ── link ──> streams ──> registry ──> rules.health ──> control_api ──> who asks
                                    │                              │
                                    v                              v
                                  writer ──> store <── reads ── facts, snapshot, feed ──> events

One event loop keeps everything in memory and reads the store inline. What must be written goes to
one thread with a connection of its own, so that a busy or full store keeps nobody waiting; its
commits, and those of other processes, come back through `feed`.

A shim's link is one HTTP/1.1 request in both directions at once: lines of JSON go up as chunks of
its body, words come down as chunks of the answer. Only `client` and `wire` are for other rooms.
"""
