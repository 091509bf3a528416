// SPDX-License-Identifier: GPL-2.0-or-later

/// A folder to watch: each file that appears there becomes a job.
public struct WatchRequest: APIObject {
    /// The job of each file. Its `input.path` is the folder.
    public var job = JobRequest()
    /// Seconds for which a file must not have changed.
    public var settle = 10.0
    /// Whether folders below are watched, too.
    public var recursive = true
    /// Whether new files wait.
    public var paused = false

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A folder to watch: each file that appears there becomes a job"
    package static let fields: Fields<Self> = [
        .required("job", \.job, "The job of each file; its input.path is the folder"),
        .defaulted("settle", \.settle, in: .range(0...86_400), "Seconds for which a file must not have changed"),
        .defaulted("recursive", \.recursive, "Whether folders below are watched, too"),
        .defaulted("paused", \.paused, "Whether new files wait"),
    ]
    package static let example: Self? = Self {
        $0.job.input = Input(.path("media/incoming"))
        $0.job.preset = "web"
    }

    package func validate() throws(APIError) {
        guard job.input.path != nil else {
            throw APIError(
                .invalidRequest,
                "The input is no folder",
                field: "/job/input",
                value: job.input.json,
                allowed: "path: ROOT/folder, below a media root"
            )
        }
    }
}

/// A watched folder, and what was found there.
public struct Watch: APIObject {
    /// Name.
    public var name = ""
    package var settings = WatchRequest()
    /// When it was made.
    public var createdAt = Timestamp()
    /// Files that became jobs.
    public var submitted = 0
    /// Files that may still change.
    public var settling = 0
    /// When the folder was read last.
    public var lastScan: Timestamp?
    /// Why files do not become jobs.
    public var problem: String?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A watched folder, and what was found there"
    package static let fields: Fields<Self> = .joined(
        [.required("name", \.name, in: .text(1...64, .name), "Name")],
        WatchRequest.fields.inlined(at: \.settings),
        [
            .required("createdAt", \.createdAt, "When it was made"),
            .required("submitted", \.submitted, in: .count, "Files that became jobs"),
            .required("settling", \.settling, in: .count, "Files that may still change"),
            .optional("lastScan", \.lastScan, "When the folder was read last"),
            .optional("problem", \.problem, "Why files do not become jobs"),
        ]
    )
}

/// Watched folders.
public struct WatchList: APIObject {
    /// The watched folders, by name.
    public var watches: [Watch] = []

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "Watched folders"
    package static let fields: Fields<Self> = [.required("watches", \.watches, "The watched folders, by name")]
}
