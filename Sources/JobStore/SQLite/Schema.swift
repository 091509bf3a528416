// SPDX-License-Identifier: GPL-2.0-or-later

internal import GRDB

/// The tables of the SQLite store.
enum Schema {
    /// The changes from version to version. A change that has been released is never edited.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { try $0.execute(sql: version1) }
        return migrator
    }

    /// Times are milliseconds since 1970, durations are milliseconds, structured values are JSON.
    private static let version1 = """
        CREATE TABLE properties (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;

        CREATE TABLE queues (
            name TEXT PRIMARY KEY,
            is_paused INTEGER NOT NULL,
            most_running INTEGER,
            windows TEXT NOT NULL,
            hop TEXT,
            weights TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        INSERT INTO queues VALUES ('default', 0, NULL, '[]', NULL, '{}');

        CREATE TABLE jobs (
            position INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            queue TEXT NOT NULL REFERENCES queues,
            priority INTEGER NOT NULL,
            share TEXT NOT NULL,
            labels TEXT NOT NULL,
            request TEXT NOT NULL,
            idempotency_key TEXT UNIQUE,
            idempotency_hash TEXT,
            deadline INTEGER,
            retention INTEGER NOT NULL,
            state TEXT NOT NULL,
            is_cancel_requested INTEGER NOT NULL,
            created INTEGER NOT NULL,
            queued INTEGER NOT NULL,
            started INTEGER,
            ended INTEGER,
            failure TEXT
        ) STRICT;
        CREATE INDEX jobs_by_state ON jobs (state, position);
        CREATE INDEX jobs_by_queue ON jobs (queue, position);
        CREATE INDEX jobs_waiting ON jobs (queue, queued) WHERE state = 'waiting';
        CREATE INDEX jobs_by_deadline ON jobs (deadline) WHERE deadline IS NOT NULL AND ended IS NULL;
        CREATE INDEX jobs_by_end ON jobs (ended + retention) WHERE ended IS NOT NULL;

        CREATE TABLE labels (
            name TEXT NOT NULL,
            value TEXT NOT NULL,
            job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
            PRIMARY KEY (name, value, job)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX labels_by_job ON labels (job);

        CREATE TABLE demands (number INTEGER PRIMARY KEY, demand TEXT NOT NULL UNIQUE) STRICT;

        CREATE TABLE tasks (
            job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
            number INTEGER NOT NULL,
            kind TEXT NOT NULL,
            payload TEXT NOT NULL,
            dependencies TEXT NOT NULL,
            demand INTEGER NOT NULL REFERENCES demands,
            cost REAL NOT NULL,
            retries TEXT NOT NULL,
            state TEXT NOT NULL,
            ready_from INTEGER,
            token INTEGER,
            failures INTEGER NOT NULL,
            losses INTEGER NOT NULL,
            result TEXT,
            failure TEXT,
            queue TEXT NOT NULL,
            priority INTEGER NOT NULL,
            share TEXT NOT NULL,
            PRIMARY KEY (job, number)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX tasks_ready ON tasks (queue, priority, share, demand, job, number, ready_from, state) WHERE state = 'ready';
        CREATE INDEX tasks_running ON tasks (queue) WHERE state = 'running';

        CREATE TABLE attempts (
            token INTEGER PRIMARY KEY AUTOINCREMENT,
            job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
            task INTEGER NOT NULL,
            worker TEXT NOT NULL,
            started INTEGER NOT NULL,
            ended INTEGER,
            outcome TEXT,
            failure TEXT,
            progress TEXT
        ) STRICT;
        CREATE INDEX attempts_by_task ON attempts (job, task);

        CREATE TABLE leases (
            token INTEGER PRIMARY KEY REFERENCES attempts ON DELETE CASCADE,
            job INTEGER NOT NULL,
            task INTEGER NOT NULL,
            worker TEXT NOT NULL,
            ends INTEGER NOT NULL,
            progress TEXT,
            result TEXT,
            intent TEXT
        ) STRICT;
        CREATE INDEX leases_by_end ON leases (ends);

        CREATE TABLE shares (
            priority INTEGER NOT NULL,
            queue TEXT NOT NULL,
            share TEXT NOT NULL,
            time REAL NOT NULL,
            is_waiting INTEGER NOT NULL,
            PRIMARY KEY (priority, queue, share)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE turns (priority INTEGER PRIMARY KEY, present REAL NOT NULL) STRICT;

        CREATE TABLE events (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            job INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
            time INTEGER NOT NULL,
            kind TEXT NOT NULL,
            task INTEGER,
            token INTEGER,
            value TEXT,
            failure TEXT
        ) STRICT;
        CREATE INDEX events_by_job ON events (job, number);
        """
}
