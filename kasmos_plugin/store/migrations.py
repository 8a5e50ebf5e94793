"""The schema of the store and how it came to be. Append-only: a landed migration never changes.

Tables belong to migrations. Triggers and indexes are derived from them: they are written here as
they should be now, compared at each opening, and rebuilt where they differ.
"""

APPLICATION_ID = 0x6B61736D
"""Marks the file as a kasmos store (`PRAGMA application_id`)."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        """CREATE TABLE projects (
            name TEXT PRIMARY KEY,
            path TEXT UNIQUE,
            added_us INTEGER NOT NULL
        ) WITHOUT ROWID""",
        """CREATE TABLE tasks (
            id INTEGER PRIMARY KEY,
            project TEXT NOT NULL REFERENCES projects (name) ON UPDATE CASCADE,
            filename TEXT NOT NULL,
            status TEXT NOT NULL,
            phase TEXT,
            topic TEXT NOT NULL DEFAULT '',
            branch TEXT NOT NULL DEFAULT '',
            goal TEXT NOT NULL DEFAULT '',
            active_wave INTEGER NOT NULL DEFAULT 0,
            total_waves INTEGER NOT NULL DEFAULT 0,
            subtasks_done INTEGER NOT NULL DEFAULT 0,
            subtasks_total INTEGER NOT NULL DEFAULT 0,
            review_cycle INTEGER NOT NULL DEFAULT 0,
            feedback_id INTEGER REFERENCES feedback (id),
            block_reason TEXT NOT NULL DEFAULT '',
            block_source TEXT,
            blocked_us INTEGER,
            pr_url TEXT NOT NULL DEFAULT '',
            pr_check_status TEXT,
            pr_review_decision TEXT,
            last_verify_outcome TEXT,
            phase_us INTEGER NOT NULL,
            created_us INTEGER NOT NULL,
            updated_us INTEGER NOT NULL,
            UNIQUE (project, filename),
            CHECK (status IN ('planning', 'ready', 'implementing', 'reviewing', 'verifying',
                'done', 'cancelled'))
        )""",
        """CREATE TABLE plans (
            task_id INTEGER PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
            body TEXT NOT NULL
        )""",
        """CREATE TABLE waves (
            task_id INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
            wave INTEGER NOT NULL,
            title TEXT NOT NULL,
            PRIMARY KEY (task_id, wave)
        ) WITHOUT ROWID""",
        """CREATE TABLE subtasks (
            task_id INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
            number INTEGER NOT NULL,
            wave INTEGER NOT NULL,
            title TEXT NOT NULL,
            status TEXT NOT NULL,
            PRIMARY KEY (task_id, number),
            CHECK (status IN ('pending', 'running', 'done', 'failed', 'blocked'))
        ) WITHOUT ROWID""",
        """CREATE TABLE feedback (
            id INTEGER PRIMARY KEY,
            task_id INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
            review_cycle INTEGER NOT NULL,
            text TEXT NOT NULL,
            at_us INTEGER NOT NULL
        )""",
        """CREATE TABLE lifecycle_counts (
            project TEXT NOT NULL,
            status TEXT NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (project, status)
        ) WITHOUT ROWID""",
        """CREATE TABLE event_counts (
            project TEXT PRIMARY KEY,
            count INTEGER NOT NULL
        ) WITHOUT ROWID""",
        """CREATE TABLE events (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            project TEXT NOT NULL,
            at_us INTEGER NOT NULL,
            kind TEXT NOT NULL,
            message TEXT NOT NULL,
            task TEXT NOT NULL DEFAULT '',
            agent TEXT NOT NULL DEFAULT '',
            wave INTEGER NOT NULL DEFAULT 0,
            task_number INTEGER NOT NULL DEFAULT 0,
            level TEXT NOT NULL DEFAULT 'info'
        )""",
        """CREATE TABLE agents (
            id TEXT PRIMARY KEY,
            project TEXT NOT NULL,
            task TEXT NOT NULL,
            is_listed INTEGER NOT NULL,
            record TEXT NOT NULL
        ) WITHOUT ROWID""",
    ),
    (
        """CREATE TABLE approvals (
            id INTEGER PRIMARY KEY,
            task_id INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
            step TEXT NOT NULL,
            wave INTEGER NOT NULL,
            reason TEXT NOT NULL,
            plan_hash TEXT NOT NULL,
            requested_us INTEGER NOT NULL,
            decision TEXT,
            decided_us INTEGER,
            decided_by TEXT NOT NULL DEFAULT '',
            used_us INTEGER,
            CHECK (decision IN ('approved', 'declined'))
        )""",
        """CREATE TABLE approved_plans (
            task_id INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
            hash TEXT NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY (task_id, hash)
        ) WITHOUT ROWID""",
        "ALTER TABLE tasks ADD COLUMN pending_step TEXT",
        "ALTER TABLE tasks ADD COLUMN pending_wave INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE tasks ADD COLUMN pending_us INTEGER",
    ),
)
"""Statements of each schema version; version N is the N-th entry, counted from 1."""

# The literals are the query's too: a bound parameter would miss a partial index.
ACTIVE = "status IN ('planning', 'ready', 'implementing', 'reviewing', 'verifying')"
WAITING = (
    "(phase = 'wave_waiting' OR block_reason <> '' OR pending_step IS NOT NULL"
    " OR (status = 'implementing' AND feedback_id IS NOT NULL))"
)

_COUNT_NEW = """INSERT INTO lifecycle_counts (project, status, count)
    VALUES (new.project, new.status, 1)
    ON CONFLICT (project, status) DO UPDATE SET count = count + 1;"""
_UNCOUNT_OLD = """UPDATE lifecycle_counts SET count = count - 1
    WHERE project = old.project AND status = old.status;"""

DERIVED: dict[str, str] = {
    "tasks_active": f"CREATE INDEX tasks_active ON tasks (project, filename) WHERE {ACTIVE}",
    "tasks_waiting": f"CREATE INDEX tasks_waiting ON tasks (project, filename)"
    f" WHERE {ACTIVE} AND {WAITING}",
    "approvals_by_task": "CREATE INDEX approvals_by_task ON approvals (task_id)",
    "feedback_by_task": "CREATE INDEX feedback_by_task ON feedback (task_id)",
    "events_by_project": "CREATE INDEX events_by_project ON events (project, id)",
    "events_by_task": "CREATE INDEX events_by_task ON events (project, task, id)",
    "agents_listed": "CREATE INDEX agents_listed ON agents (project) WHERE is_listed = 1",
    "agents_by_task": "CREATE INDEX agents_by_task ON agents (project, task)",
    "tasks_count_insert": f"""CREATE TRIGGER tasks_count_insert AFTER INSERT ON tasks BEGIN
    {_COUNT_NEW} END""",
    "tasks_count_delete": f"""CREATE TRIGGER tasks_count_delete AFTER DELETE ON tasks BEGIN
    {_UNCOUNT_OLD} END""",
    "tasks_count_update": f"""CREATE TRIGGER tasks_count_update
    AFTER UPDATE OF project, status ON tasks
    WHEN old.project <> new.project OR old.status <> new.status BEGIN
    {_UNCOUNT_OLD} {_COUNT_NEW} END""",
    "events_count_insert": """CREATE TRIGGER events_count_insert AFTER INSERT ON events BEGIN
    INSERT INTO event_counts (project, count) VALUES (new.project, 1)
    ON CONFLICT (project) DO UPDATE SET count = count + 1; END""",
    "events_append_only": """CREATE TRIGGER events_append_only BEFORE UPDATE ON events BEGIN
    SELECT RAISE (ABORT, 'events are append-only'); END""",
    "events_never_deleted": """CREATE TRIGGER events_never_deleted BEFORE DELETE ON events BEGIN
    SELECT RAISE (ABORT, 'events are append-only'); END""",
}
"""Triggers and indexes by name, as they should be."""
