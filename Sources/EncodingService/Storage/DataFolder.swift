// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
package import HostSystem
internal import JobStore

/// The folder in which a service keeps everything.
///
/// | Path | Holds |
/// |---|---|
/// | `jobs.sqlite` | The job store |
/// | `uploads/ID/` | What a client has sent: `data`, and `info.json` |
/// | `work/TOKEN/` | What an attempt at a task writes, until it is published |
/// | `work/TOKEN.input/` | The input of an attempt, if the service has fetched it |
/// | `results/JOB/TASK/` | What a task has published, in one step |
/// | `transfers/` | What deliveries have begun elsewhere |
/// | `logs/JOB.log` | What the programs of a job have said |
/// | `unknown/JOB/` | Results and logs of jobs that the store lost when it went back to its backup |
/// | `keys.json`, `presets/` | Keys of clients; settings by name |
/// | `audit.jsonl` | Who has changed what |
/// | `watches/` | Watched folders, and which of their files became jobs |
/// | `live/` | Live jobs with their secrets, and the streams that the service delivers |
/// | `state/` | What workers know of devices |
package struct DataFolder: Sendable, Hashable {
    /// The folder.
    package let path: String

    /// Makes the folder with its parts, for its owner only.
    ///
    /// - Throws: `FileError`.
    package init(path: String) throws(FileError) {
        self.path = path
        for name in ["uploads", "work", "results", "logs", "presets", "watches", "state", "transfers", "live"] {
            try Files.makeFolder("\(path)/\(name)")
        }
    }

    var jobStore: String { "\(path)/jobs.sqlite" }
    var audit: String { "\(path)/audit.jsonl" }
    var keys: String { "\(path)/keys.json" }
    var deliveries: String { "\(path)/deliveries.sqlite" }
    var webhookSecret: String { "\(path)/webhooks.key" }
    var linkKey: String { "\(path)/links.key" }
    var presets: String { "\(path)/presets" }
    var watches: String { "\(path)/watches" }
    var live: String { "\(path)/live" }
    var transfers: String { "\(path)/transfers" }
    var state: String { "\(path)/state" }
    var uploads: String { "\(path)/uploads" }

    private var workFolder: String { "\(path)/work" }
    /// A folder that does not exist yet, for what a request needs until it is answered.
    func newPreview() -> String { "\(workFolder)/previews/\(Identifier.make(at: Clock.now))" }

    func uploadRecord(_ id: String) -> String { "\(upload(id))/info.json" }
    func upload(_ id: String) -> String { "\(uploads)/\(id)" }
    func work(_ token: AttemptToken) -> String { "\(workFolder)/\(token.rawValue)" }
    func spool(_ token: AttemptToken) -> String { "\(work(token)).input" }
    func results(_ job: JobID) -> String { "\(path)/results/\(job)" }
    func results(_ task: TaskID) -> String { "\(results(task.job))/\(task.index)" }
    func log(_ job: JobID) -> String { "\(path)/logs/\(job).log" }

    /// Removes what attempts have left. None may run.
    func removeWork() throws(FileError) {
        for name in try Files.names(in: workFolder) { try Files.remove("\(workFolder)/\(name)") }
    }

    /// Removes what a process that was killed has written for `Files.replace`, and not put in its place.
    ///
    /// Call it when the job store is open: no other process has the folder then.
    func removeUnfinished() throws(FileError) {
        for folder in [path, presets, watches, live] {
            for name in try Files.names(in: folder) where name.hasSuffix(Files.unfinishedSuffix) {
                try Files.remove("\(folder)/\(name)")
            }
        }
        for id in try Files.names(in: uploads) { try Files.remove(uploadRecord(id) + Files.unfinishedSuffix) }
    }

    /// Moves the results and the log of a job to where nothing removes them.
    ///
    /// - Returns: The folder.
    func setAside(_ job: JobID) throws(FileError) -> String {
        let folder = "\(path)/unknown/\(job)"
        try Files.makeFolder(folder)
        for (from, name) in [(results(job), "results"), (log(job), "log")] where try Files.status(from) != nil {
            guard rename(from, "\(folder)/\(name)") == 0 else { throw FileError("rename", from) }
        }
        return folder
    }

    /// The jobs of which there are results or a log.
    func jobsWithFiles() throws(FileError) -> Set<JobID> {
        let names = try Files.names(in: "\(path)/results") + Files.names(in: "\(path)/logs").map { $0.removing(".log") }
        return Set(names.compactMap(JobID.init(rawValue:)))
    }

    /// Removes all files of a job that was deleted.
    func removeFiles(of job: JobID) throws(FileError) {
        try Files.remove(results(job))
        try Files.remove(log(job))
    }
}

extension String {
    /// The text without an ending, if it has it.
    fileprivate func removing(_ ending: String) -> String { hasSuffix(ending) ? String(dropLast(ending.count)) : self }
}
