// SPDX-License-Identifier: GPL-2.0-or-later

extension Operation {
    /// Every operation of the API. The server registers exactly these.
    package static let all: [Operation] =
        documentation + media + uploads + resumableUploads + jobs + results + queues + presets + watches + live + node
        + keys

    private static let jobPath = "/v1/jobs/{id}"
    private static let validators = [
        Header("ETag", "Changes whenever the resource does"), Header("Cache-Control", "How long a copy is valid"),
    ]
    private static let ifNoneMatch = Header("If-None-Match", "An ETag; 304 if it is still the same")
    private static let unchanged = Response.empty(304, "The resource has not changed")

    private static let documentation: [Operation] = [
        Operation(
            .get,
            "/v1",
            id: "getService",
            .documentation,
            "Tells what answers, and where its resources are.",
            scope: nil,
            responses: [.json(ServiceInfo.self)]
        ),
        Operation(
            .get,
            "/v1/openapi.json",
            id: "getDocument",
            .documentation,
            "Describes the API: this document.",
            scope: nil,
            responses: [.of([.document("application/json")], "The OpenAPI document")]
        ),
        Operation(
            .get,
            "/v1/errors",
            id: "listErrors",
            .documentation,
            "Describes the errors of requests and the failures of jobs.",
            scope: nil,
            responses: [.json(ErrorList.self)]
        ),
        Operation(
            .get,
            "/v1/errors/{code}",
            id: "getError",
            .documentation,
            "Describes an error or a failure.",
            scope: nil,
            responses: [.json(ErrorDescription.self)]
        ),
    ]

    private static let media: [Operation] = [
        Operation(
            .get,
            "/v1/capabilities",
            id: "getCapabilities",
            .media,
            "Lists the encoders and GPUs of this node.",
            scope: .readJobs,
            responses: [.json(Capabilities.self)]
        ),
        Operation(
            .post,
            "/v1/probe",
            id: "probe",
            .media,
            "Tells what a file contains.",
            scope: .writeJobs,
            request: .json(ProbeRequest.self),
            responses: [.json(MediaReport.self)],
            errors: [.notFound, .gone, .insufficientStorage]
        ),
        Operation(
            .post,
            "/v1/encode",
            id: "encode",
            .media,
            "Encodes the body, and answers with the result while the body is still being sent.",
            details: "The body may have any length. If encoding fails after the answer has begun, the connection is "
                + "closed without the end of the body (HTTP/1.1: the last chunk is missing; HTTP/2: RST_STREAM).",
            scope: .encode,
            query: .of(StreamQuery.self),
            request: .bytes("application/octet-stream"),
            responses: [.of(StreamQuery.Format.allCases.map { .bytes($0.mediaType) }, "The encoded stream")],
            errors: [.invalidRequest, .invalidState, .insufficientStorage]
        ),
    ]

    private static let jobs: [Operation] = [
        Operation(
            .post,
            "/v1/jobs",
            id: "submitJob",
            .jobs,
            "Submits a job.",
            details:
                "With an `Idempotency-Key`, a request that is sent again is answered with the job of the first one "
                + "(200). The same key with another request is an error (`idempotency-conflict`).",
            scope: .writeJobs,
            query: .of(SubmitQuery.self),
            headers: [
                Header(
                    "Idempotency-Key",
                    "Any text that is unique for the request",
                    ["type": "string", "minLength": 1, "maxLength": 256]
                )
            ],
            request: .json(JobRequest.self),
            responses: [
                .json(201, Job.self, "The new job", headers: [Header("Location", "Path of the job")]),
                .of(
                    [.json(.of(Job.self)), .json(.of(Plan.self))],
                    "The job of an earlier request with the same key, or the plan of a dry run"
                ),
            ],
            errors: [.notFound, .conflict, .idempotencyConflict, .insufficientStorage]
        ),
        Operation(
            .get,
            "/v1/jobs",
            id: "listJobs",
            .jobs,
            "Lists jobs, the newest first.",
            scope: .readJobs,
            query: .of(JobQuery.self),
            responses: [.json(JobList.self)]
        ),
        Operation(
            .get,
            jobPath,
            id: "getJob",
            .jobs,
            "Tells how far a job is.",
            scope: .readJobs,
            headers: [ifNoneMatch],
            responses: [.json(Job.self, headers: validators), unchanged]
        ),
        Operation(
            .delete,
            jobPath,
            id: "deleteJob",
            .jobs,
            "Deletes a job that has ended, with its files.",
            scope: .writeJobs,
            responses: [.empty(204, "The job and its files are deleted")],
            errors: [.invalidState]
        ),
        Operation(
            .post,
            "\(jobPath)/cancel",
            id: "cancelJob",
            .jobs,
            "Cancels a job. A job that runs ends soon.",
            scope: .writeJobs,
            responses: [.json(Job.self)],
            errors: [.invalidState]
        ),
        Operation(
            .post,
            "\(jobPath)/retry",
            id: "retryJob",
            .jobs,
            "Runs the tasks again that have failed or were cancelled.",
            scope: .writeJobs,
            responses: [.json(Job.self)],
            errors: [.invalidState]
        ),
        Operation(
            .get,
            "\(jobPath)/waiting",
            id: "getWaitingReason",
            .jobs,
            "Tells why a job waits.",
            scope: .readJobs,
            responses: [.json(WaitingReason.self)],
            errors: [.invalidState]
        ),
        Operation(
            .get,
            "\(jobPath)/log",
            id: "getLog",
            .jobs,
            "Reads what the processes of a job have written.",
            details: "With `follow=true`, the answer ends when the job does.",
            scope: .readJobs,
            query: .of(LogQuery.self),
            responses: [.of([.text("text/plain; charset=utf-8")], "The lines of the log")]
        ),
        events("\(jobPath)/events", id: "getJobEvents", "Sends the events of a job until it ends."),
        events("/v1/events", id: "getEvents", "Sends the events of all jobs."),
        Operation(
            .get,
            "\(jobPath)/deliveries",
            id: "listDeliveries",
            .jobs,
            "Lists the reports to the job's webhook.",
            scope: .readJobs,
            responses: [.json(DeliveryList.self)]
        ),
        Operation(
            .post,
            "\(jobPath)/deliveries/{deliveryID}/redeliver",
            id: "redeliver",
            .jobs,
            "Sends a report to the webhook again.",
            scope: .writeJobs,
            responses: [.json(202, Delivery.self)],
            errors: [.invalidState]
        ),
    ]

    private static func events(_ path: String, id: String, _ summary: String) -> Operation {
        Operation(
            .get,
            path,
            id: id,
            .jobs,
            summary,
            details: "As `text/event-stream`, each event has its number as `id`, its type as `event`, and an Event as "
                + "`data`; a comment follows every 15 seconds. A client that connects again sends `Last-Event-ID`, and "
                + "misses nothing. As `application/json`, the answer has the events so far.",
            scope: .readJobs,
            query: .of(EventQuery.self),
            headers: [Header("Last-Event-ID", "Number of the last event that was received")],
            responses: [.of([.events(.of(Event.self)), .json(.of(EventList.self))], "The events")],
            errors: [.notAcceptable, .gone]
        )
    }

    private static let results: [Operation] = [
        Operation(
            .get,
            "\(jobPath)/files/{path...}",
            id: "getFile",
            .results,
            "Reads a file of the results.",
            scope: .readJobs,
            query: .of(FileQuery.self),
            headers: [
                Header("Range", "The part to send"), Header("If-Range", "An ETag; the whole file if it differs"),
                ifNoneMatch,
            ],
            responses: [
                .of([.bytes("*/*")], "The file", headers: fileHeaders),
                .of(
                    206,
                    [.bytes("*/*")],
                    "A part of the file",
                    headers: fileHeaders + [Header("Content-Range", "The part")]
                ),
                unchanged,
            ],
            errors: [.rangeNotSatisfiable, .gone, .preconditionFailed]
        ),
        Operation(
            .get,
            "\(jobPath)/preview/{name}",
            id: "getPreview",
            .results,
            "Reads what is encoded so far of an output with this path in `playable`. It is not verified.",
            scope: .readJobs,
            headers: [
                Header("Range", "The part to send"), Header("If-Range", "An ETag; the whole file if it differs"),
            ],
            responses: [
                .of([.bytes("*/*")], "The bytes that are encoded so far", headers: previewHeaders),
                .of(
                    206,
                    [.bytes("*/*")],
                    "A part of the file",
                    headers: previewHeaders + [Header("Content-Range", "The part")]
                ),
                .empty(204, "The output has no data yet"),
            ],
            errors: [.rangeNotSatisfiable]
        ),
        Operation(
            .post,
            "/v1/links",
            id: "makeLink",
            .results,
            "Makes a signed URL, with which others can read a result or upload a file without a key.",
            details: "A link for PUT needs the scope `uploads:write`.",
            scope: .readJobs,
            request: .json(LinkRequest.self),
            responses: [.json(201, Link.self)],
            errors: [.notFound]
        ),
    ]

    private static let fileHeaders = [
        Header("ETag", "The SHA-256 of the file"), Header("Repr-Digest", "The SHA-256 of the file (RFC 9530)"),
        Header("Accept-Ranges", "bytes"), Header("Content-Disposition", "The file name"),
    ]

    private static let previewHeaders = [
        Header("ETag", "The same while the file grows, another one of another file"), Header("Accept-Ranges", "bytes"),
    ]

    private static let queues: [Operation] =
        [
            Operation(
                .get,
                "/v1/queues",
                id: "listQueues",
                .queues,
                "Lists the queues.",
                scope: .readJobs,
                responses: [.json(QueueList.self)]
            ),
            Operation(
                .get,
                "/v1/queues/{name}",
                id: "getQueue",
                .queues,
                "Reads the settings and the state of a queue.",
                scope: .readJobs,
                responses: [.json(QueueObject.self)]
            ),
            Operation(
                .put,
                "/v1/queues/{name}",
                id: "setQueue",
                .queues,
                "Makes a queue, or replaces its settings.",
                scope: .admin,
                request: .json(QueueRequest.self),
                responses: [.json(QueueObject.self), .json(201, QueueObject.self, "The new queue")]
            ),
            Operation(
                .delete,
                "/v1/queues/{name}",
                id: "deleteQueue",
                .queues,
                "Deletes a queue without jobs.",
                scope: .admin,
                responses: [.empty(204, "The queue is deleted")],
                errors: [.invalidState]
            ),
            queueAction("pause", "Pauses a queue: no task begins, and those that run go on."),
            queueAction("resume", "Ends the pause of a queue."),
            queueAction("drain", "Pauses a queue, and waits until nothing runs if asked.", query: .of(DrainQuery.self)),
        ]

    private static func queueAction(_ action: String, _ summary: String, query: Shape? = nil) -> Operation {
        Operation(
            .post,
            "/v1/queues/{name}/\(action)",
            id: "\(action)Queue",
            .queues,
            summary,
            scope: .admin,
            query: query,
            responses: [.json(QueueObject.self)]
        )
    }

    private static let presets: [Operation] = [
        Operation(
            .get,
            "/v1/presets",
            id: "listPresets",
            .presets,
            "Lists the presets.",
            scope: .readJobs,
            responses: [.json(PresetList.self)]
        ),
        Operation(
            .get,
            "/v1/presets/{name}",
            id: "getPreset",
            .presets,
            "Reads a version of a preset.",
            scope: .readJobs,
            query: .of(PresetQuery.self),
            responses: [.json(Preset.self)]
        ),
        Operation(
            .put,
            "/v1/presets/{name}",
            id: "setPreset",
            .presets,
            "Makes a preset, or a new version of it. Earlier versions stay.",
            scope: .admin,
            request: .json(PresetRequest.self),
            responses: [.json(Preset.self), .json(201, Preset.self, "The first version")]
        ),
        Operation(
            .delete,
            "/v1/presets/{name}",
            id: "deletePreset",
            .presets,
            "Deletes a preset with all versions. Jobs that named it keep their outputs.",
            scope: .admin,
            responses: [.empty(204, "The preset is deleted")]
        ),
    ]

    private static let watches: [Operation] = [
        Operation(
            .get,
            "/v1/watches",
            id: "listWatches",
            .watches,
            "Lists the watched folders.",
            scope: .readJobs,
            responses: [.json(WatchList.self)]
        ),
        Operation(
            .get,
            "/v1/watches/{name}",
            id: "getWatch",
            .watches,
            "Reads a watched folder: its settings, and what was found there.",
            scope: .readJobs,
            responses: [.json(Watch.self)]
        ),
        Operation(
            .put,
            "/v1/watches/{name}",
            id: "setWatch",
            .watches,
            "Watches a folder below a media root, or changes how: each file that appears there becomes a job.",
            scope: .admin,
            request: .json(WatchRequest.self),
            responses: [.json(Watch.self), .json(201, Watch.self, "The new watched folder")]
        ),
        Operation(
            .delete,
            "/v1/watches/{name}",
            id: "deleteWatch",
            .watches,
            "Ends the watching of a folder. Its jobs go on.",
            scope: .admin,
            responses: [.empty(204, "The folder is not watched any more")]
        ),
    ]
}
