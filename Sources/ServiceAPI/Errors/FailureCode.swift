// SPDX-License-Identifier: GPL-2.0-or-later

/// The kind of a failure of a job: what the service itself finds, and the codes of the command.
package enum FailureCode: String, Sendable, Hashable, CaseIterable {
    case stalled
    case workerKilled = "worker-killed"
    case outOfMemory = "out-of-memory"
    case timeLimit = "time-limit"
    case workerLost = "worker-lost"
    /// The command refused its arguments, which the service had checked.
    case usage
    /// The command failed without saying why.
    case commandFailed = "command-failed"
    /// The client of a stream closed its connection.
    case clientLeft = "client-left"
    case damagedInput = "damaged-input"
    case invalidArgument = "invalid-argument"
    case unsupported
    case unavailable
    case creationFailed = "creation-failed"
    case frameFailed = "frame-failed"
    case conversionFailed = "conversion-failed"
    case pictureLost = "picture-lost"
    case deadlineExceeded = "deadline-exceeded"
    case invalidState = "invalid-state"
    case cancelled
    case malformedData = "malformed-data"
    case busy
    case proofFailed = "proof-failed"
    case verificationFailed = "verification-failed"
    case targetUnreachable = "target-unreachable"
    case suspended
    case inputOutput = "input-output"
    case fetchFailed = "fetch-failed"
    case addressRefused = "address-refused"
    case inputTooLarge = "input-too-large"
    case playlistInput = "playlist-input"
    case storageFailed = "storage-failed"
    case destinationConflict = "destination-conflict"

    /// What it means, without details.
    package var title: String { entry.title }
    /// What usually helps.
    package var remedies: [String] { entry.remedies }

    private var entry: (title: String, remedies: [String]) {
        switch self {
        case .stalled:
            (
                "The process of the task made no progress",
                ["Read the log of the job for what it did last.", "Check the input with `POST /v1/probe`."]
            )
        case .workerKilled:
            ("The process of the task was killed", ["Read the log of the job, and that of the system."])
        case .outOfMemory:
            ("The memory did not suffice", ["Use fewer outputs in a job, or raise the limit of memory."])
        case .timeLimit:
            ("The time limit of the job was reached", ["Raise `timeLimit`, use fewer outputs, or a faster `preset`."])
        case .workerLost: ("The worker of the task has vanished", ["Read the log of the service on that node."])
        case .commandFailed:
            ("The command has failed without saying why", ["Read the log of the job.", "Retry the job."])
        case .clientLeft:
            ("The client of the stream closed its connection", ["Keep the connection until the answer has ended."])
        case .usage: ("The command refused its arguments", ["Read the message, and change the request."])
        case .damagedInput:
            (
                "Part of the input could not be read",
                ["Replace the input.", "Set `damagedInput` to `accept` to get the result nevertheless."]
            )
        case .invalidArgument: ("A value is not allowed", ["Change the value that the message names."])
        case .unsupported:
            (
                "The encoder, driver, library or container does not support this",
                ["Change the setting that the message names.", "Let the service choose: `auto`."]
            )
        case .unavailable:
            (
                "A device, library, file or encoder does not exist",
                ["Check the name.", "Look at `GET /v1/capabilities` for the devices."]
            )
        case .creationFailed: ("An encoder could not be created", ["Follow the remedies of the failure's cause."])
        case .frameFailed: ("A frame could not be encoded", ["Retry the job.", "Use another device, or `software`."])
        case .conversionFailed:
            ("A picture could not be converted", ["Retry the job.", "Use another device, or `software`."])
        case .pictureLost:
            ("A picture on a GPU could not be read any more", ["Retry the job.", "Use another device, or `software`."])
        case .deadlineExceeded:
            ("A call or a frame took too long", ["Retry the job.", "Use another device, or `software`."])
        case .invalidState: ("The state does not permit this", ["Retry the job, and report the failure."])
        case .cancelled: ("The job was cancelled", ["Retry the job if it should run."])
        case .malformedData:
            (
                "The media data is malformed, truncated or empty",
                ["Check the input with `POST /v1/probe`.", "Replace the input."]
            )
        case .busy: ("The device has no free resources", ["Retry the job later.", "Use another device."])
        case .proofFailed:
            ("A test encode on the device had a wrong result", ["Update the driver.", "Use another device."])
        case .verificationFailed:
            ("The output is not what was encoded", ["Retry the job.", "Use another device, or `software`."])
        case .targetUnreachable:
            (
                "No quality of the encoder reaches the target",
                [
                    "Ask for a lower score in `video.target`.",
                    "Set `video.target.shortfall` to `best` to get the best quality that there is.",
                ]
            )
        case .suspended:
            (
                "The device is suspended after repeated failures",
                ["Wait until it is tried again.", "Use another device."]
            )
        case .inputOutput:
            ("Reading or writing failed", ["Check the disk and its permissions.", "Retry the job."])
        case .fetchFailed:
            (
                "The input could not be fetched",
                ["Check that the URL leads to one file.", "Retry the job.", "Upload the file."]
            )
        case .addressRefused:
            (
                "The service does not connect to the address of the URL",
                ["Upload the file.", "Ask the operator to allow the address: `network.allow`."]
            )
        case .inputTooLarge:
            (
                "The input is larger than what the service fetches",
                ["Ask the operator to raise `inputs.limit`.", "Upload the file, or use a smaller one."]
            )
        case .storageFailed:
            (
                "A store could not be read or written",
                ["Check the names of the bucket and of the store.", "Ask the operator to check its credentials."]
            )
        case .destinationConflict:
            (
                "The destination has another file of this name",
                [
                    "Choose another destination and retry the job.", "Submit it with `overwrite`.",
                    "Remove the other file.",
                ]
            )
        case .playlistInput:
            (
                "The input is a playlist, which names further files",
                ["Give the URL of one media file.", "Download the stream into one file, and upload that."]
            )
        }
    }
}
