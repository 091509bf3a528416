// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
package import HostSystem
internal import JobStore

/// The folder in which a service keeps everything. Its nodes share it, on storage that all of them see.
///
/// | Path | Holds |
/// |---|---|
/// | `jobs.sqlite` | The job store |
/// | `uploads/ID/` | What a client has sent: `data`, and `info.json` |
/// | `work/NODE/TOKEN/` | What an attempt at a task writes on a node, until it is published |
/// | `work/NODE/TOKEN.input/` | The input of an attempt, if the node has fetched it |
/// | `chunks/JOB/OUTPUT-VERSION/` | The chunks of an output that is encoded in parts, until the job has succeeded or was cancelled |
/// | `results/JOB/TASK/` | What a task has published, in one step |
/// | `transfers/` | What deliveries have begun elsewhere; with several nodes, in a folder for each |
/// | `logs/JOB.log` | What the programs of a job have said |
/// | `unknown/JOB/` | Results and logs of jobs that the store lost when it went back to its backup |
/// | `folder.id` | With a shared store, the number by which nodes know the folder |
/// | `keys.json`, `presets/` | Keys of clients; settings by name |
/// | `audit.jsonl` | Who has changed what |
/// | `watches/` | Watched folders, and which of their files became jobs |
/// | `live/` | Live jobs with their secrets, and the streams that the service delivers |
/// | `state/` | What workers know of devices; with several nodes, in a folder for each |
/// | `nodes/NODE.lock`, `api.lock` | Locked by the process of a node, and by that which serves the API |
package struct DataFolder: Sendable, Hashable {
    /// The folder.
    package let path: String
    /// The name of this node.
    package let node: String
    /// Whether other nodes work in the folder at the same time.
    package let isShared: Bool

    /// Makes the folder with its parts, for its owner only.
    ///
    /// - Throws: `FileError`.
    package init(path: String, node: String, isShared: Bool = false) throws(FileError) {
        self.path = path
        self.node = node
        self.isShared = isShared
        for name in ["uploads", "chunks", "results", "logs", "presets", "watches", "live", "nodes"] {
            try Files.makeFolder("\(path)/\(name)")
        }
        for folder in [workFolder, state, transfers] { try Files.makeFolder(folder) }
    }

    var jobStore: String { "\(path)/jobs.sqlite" }
    /// The number of the folder, which the nodes of a shared store compare.
    var identity: String { "\(path)/folder.id" }
    var audit: String { "\(path)/audit.jsonl" }
    var keys: String { "\(path)/keys.json" }
    /// The events of another job store have other numbers.
    var deliveries: String { "\(path)/\(isShared ? "deliveries-cluster" : "deliveries").sqlite" }
    var webhookSecret: String { "\(path)/webhooks.key" }
    var linkKey: String { "\(path)/links.key" }
    var presets: String { "\(path)/presets" }
    var watches: String { "\(path)/watches" }
    var live: String { "\(path)/live" }
    var transfers: String { ofNode("transfers") }
    var state: String { ofNode("state") }
    var uploads: String { "\(path)/uploads" }
    var apiLock: String { "\(path)/api.lock" }
    var nodeLock: String { "\(path)/nodes/\(node).lock" }

    /// A folder whose content concerns one node only.
    private func ofNode(_ name: String) -> String { isShared ? "\(path)/\(name)/\(node)" : "\(path)/\(name)" }

    /// Where the attempts of all nodes write.
    private var allWork: String { "\(path)/work" }
    private var workFolder: String { workFolder(of: node) }
    private func workFolder(of node: some StringProtocol) -> String { "\(allWork)/\(node)" }

    /// A folder that does not exist yet, for what a request needs until it is answered.
    func newPreview() -> String { "\(workFolder)/previews/\(Identifier.make(at: Clock.now))" }

    func uploadRecord(_ id: String) -> String { "\(upload(id))/info.json" }
    func upload(_ id: String) -> String { "\(uploads)/\(id)" }
    func work(_ token: AttemptToken) -> String { "\(workFolder)/\(token.rawValue)" }
    /// The same of a worker of any node.
    ///
    /// - Parameter worker: Its name, `NODE/PROCESS`.
    func work(_ token: AttemptToken, of worker: String) -> String {
        "\(workFolder(of: worker.prefix { $0 != "/" }))/\(token.rawValue)"
    }
    func spool(_ token: AttemptToken) -> String { "\(work(token)).input" }
    func chunks(_ job: JobID) -> String { "\(path)/chunks/\(job)" }
    func results(_ job: JobID) -> String { "\(path)/results/\(job)" }
    func results(_ task: TaskID) -> String { "\(results(task.job))/\(task.index)" }
    func log(_ job: JobID) -> String { "\(path)/logs/\(job).log" }

    /// Removes what attempts on this node have left. None may run. A folder that is not shared may be of a machine whose
    /// name was another one.
    func removeWork() throws(FileError) {
        let folder = isShared ? workFolder : allWork
        for name in try Files.names(in: folder) { try Files.remove("\(folder)/\(name)") }
    }

    /// Removes what a process that was killed has written for `Files.replace`, and not put in its place.
    ///
    /// Call it while this process alone serves the API: no other one writes these files.
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
        let names =
            try Files.names(in: "\(path)/results") + Files.names(in: "\(path)/chunks")
            + Files.names(in: "\(path)/logs").map { $0.removing(".log") }
        return Set(names.compactMap(JobID.init(rawValue:)))
    }

    /// The jobs of which there are chunks.
    func jobsWithChunks() throws(FileError) -> [JobID] {
        try Files.names(in: "\(path)/chunks").compactMap(JobID.init(rawValue:))
    }

    /// Removes all files of a job that was deleted.
    func removeFiles(of job: JobID) throws(FileError) {
        try Files.remove(chunks(job))
        try Files.remove(results(job))
        try Files.remove(log(job))
    }
}

extension String {
    /// The text without an ending, if it has it.
    fileprivate func removing(_ ending: String) -> String { hasSuffix(ending) ? String(dropLast(ending.count)) : self }
}
