// SPDX-License-Identifier: GPL-2.0-or-later

/// Operations on live jobs.
extension Operation {
    private static let path = "/v1/live/{id}"

    static let live: [Operation] = [
        Operation(
            .post,
            "/v1/live",
            id: "createLive",
            .live,
            "Starts a live job.",
            details:
                "Its process is started again when it ends early, also after a restart of the service, until it is "
                + "stopped. With an `Idempotency-Key`, a request that is sent again is answered with the live job of the "
                + "first one (200).",
            scope: .writeJobs,
            headers: [
                Header(
                    "Idempotency-Key",
                    "Any text that is unique for the request",
                    ["type": "string", "minLength": 1, "maxLength": 256]
                )
            ],
            request: .json(LiveRequest.self),
            responses: [
                .json(201, LiveJob.self, "The new live job", headers: [Header("Location", "Path of the live job")]),
                .json(200, LiveJob.self, "The live job of an earlier request with the same key"),
            ],
            errors: [.notFound, .conflict, .idempotencyConflict, .insufficientStorage]
        ),
        Operation(
            .get,
            "/v1/live",
            id: "listLive",
            .live,
            "Lists live jobs, the newest first.",
            scope: .readJobs,
            query: .of(LiveQuery.self),
            responses: [.json(LiveJobList.self)]
        ),
        Operation(
            .get,
            path,
            id: "getLive",
            .live,
            "Tells how a live job is doing.",
            scope: .readJobs,
            responses: [.json(LiveJob.self)]
        ),
        Operation(
            .delete,
            path,
            id: "deleteLive",
            .live,
            "Deletes a live job that has ended, with what the service delivers of it.",
            scope: .writeJobs,
            responses: [.empty(204, "The live job is deleted")],
            errors: [.invalidState]
        ),
        Operation(
            .post,
            path + "/stop",
            id: "stopLive",
            .live,
            "Ends a live job: what was captured so far is sent.",
            scope: .writeJobs,
            responses: [.json(LiveJob.self)]
        ),
        Operation(
            .post,
            path + "/switch",
            id: "switchLive",
            .live,
            "Uses another input of a live job, with a key frame.",
            details:
                "While the live job waits for its next process, that one begins with the new value. If its process "
                + "takes no commands at present, the answer is 503, and nothing is changed.",
            scope: .writeJobs,
            request: .json(LiveSwitch.self),
            responses: [.json(LiveJob.self)],
            errors: [.invalidState, .insufficientStorage]
        ),
        Operation(
            .post,
            path + "/update",
            id: "updateLive",
            .live,
            "Changes the highest bit rate of a live job.",
            details:
                "While the live job waits for its next process, that one begins with the new value. If its process "
                + "takes no commands at present, the answer is 503, and nothing is changed.",
            scope: .writeJobs,
            request: .json(LiveUpdate.self),
            responses: [.json(LiveJob.self)],
            errors: [.invalidState, .insufficientStorage]
        ),
        Operation(
            .get,
            path + "/hls/{output}/{path...}",
            id: "getLiveFile",
            .live,
            "Reads a playlist or a segment of an output that the service delivers: index.m3u8 is the stream.",
            scope: .readJobs,
            headers: [Header("Range", "The part to send")],
            responses: [
                .of([.bytes("*/*")], "The file"),
                .of(206, [.bytes("*/*")], "A part of the file", headers: [Header("Content-Range", "The part")]),
            ],
            errors: [.rangeNotSatisfiable]
        ),
    ]
}
