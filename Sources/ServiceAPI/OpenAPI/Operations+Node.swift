// SPDX-License-Identifier: GPL-2.0-or-later

/// Operations on uploads, nodes and keys.
extension Operation {
    static let uploads: [Operation] = [
        Operation(
            .put,
            "/v1/uploads/{name}",
            id: "putUpload",
            .uploads,
            "Uploads a file in one request.",
            details: "The body is compared with the digest of the header, if there is one.",
            scope: .writeUploads,
            headers: [
                Header("Repr-Digest", "SHA-256 of the file, as sha-256=:BASE64: (RFC 9530)"),
                Header("Content-Digest", "SHA-256 of the body, as sha-256=:BASE64: (RFC 9530)"),
            ],
            request: .bytes("application/octet-stream"),
            responses: [.json(201, Upload.self, "The upload", headers: [Header("Location", "Path of the upload")])],
            errors: [.conflict, .checksumMismatch, .insufficientStorage]
        ),
        Operation(
            .get,
            "/v1/uploads",
            id: "listUploads",
            .uploads,
            "Lists the uploads, the newest first.",
            scope: .writeUploads,
            responses: [.json(UploadList.self)]
        ),
        Operation(
            .get,
            "/v1/uploads/{name}",
            id: "getUpload",
            .uploads,
            "Tells how much of a file was received.",
            scope: .writeUploads,
            responses: [.json(Upload.self)]
        ),
        Operation(
            .delete,
            "/v1/uploads/{name}",
            id: "deleteUpload",
            .uploads,
            "Deletes an upload that no job needs.",
            scope: .writeUploads,
            responses: [.empty(204, "The upload is deleted")],
            errors: [.invalidState]
        ),
    ]

    private static let tusVersion = Header("Tus-Resumable", "1.0.0", isRequired: true)
    private static let tusAnswer = [
        Header("Tus-Resumable", "1.0.0"), Header("Upload-Expires", "When the upload will be deleted"),
    ]
    private static let offset = Header(
        "Upload-Offset",
        "Bytes received so far",
        isRequired: true,
        ["type": "integer", "minimum": 0]
    )
    private static let chunk = "application/offset+octet-stream"

    /// The protocol tus 1.0.0, https://tus.io/protocols/resumable-upload.
    static let resumableUploads: [Operation] = [
        Operation(
            .options,
            "/v1/tus",
            id: "getTusOptions",
            .uploads,
            "Tells which extensions of tus the service has.",
            scope: nil,
            responses: [
                .empty(
                    204,
                    "The extensions",
                    headers: [
                        Header("Tus-Resumable", "1.0.0"), Header("Tus-Version", "1.0.0"),
                        Header(
                            "Tus-Extension",
                            "creation, creation-with-upload, checksum, expiration, termination, concatenation"
                        ),
                        Header("Tus-Max-Size", "Largest size in bytes"), Header("Tus-Checksum-Algorithm", "sha256"),
                    ]
                )
            ]
        ),
        Operation(
            .post,
            "/v1/tus",
            id: "createTusUpload",
            .uploads,
            "Begins an upload that can be continued after an interruption, perhaps with its first bytes.",
            scope: .writeUploads,
            headers: [
                tusVersion, Header("Upload-Length", "Size in bytes"), Header("Upload-Defer-Length", "1: not known yet"),
                Header("Upload-Metadata", "filename, in Base64"),
                Header("Upload-Concat", "partial, or final with URLs"),
                Header("Upload-Checksum", "sha256 and the digest of the body in Base64"),
            ],
            request: .bytes(chunk, isRequired: false),
            responses: [
                .empty(
                    201,
                    "The upload has begun",
                    headers: tusAnswer + [
                        Header("Location", "URL of the upload"), Header("Upload-Offset", "Bytes received"),
                    ]
                )
            ],
            errors: [.conflict, .checksumMismatch, .preconditionFailed, .insufficientStorage]
        ),
        Operation(
            .head,
            "/v1/tus/{id}",
            id: "getTusOffset",
            .uploads,
            "Tells how many bytes were received.",
            scope: .writeUploads,
            headers: [tusVersion],
            responses: [
                .empty(
                    200,
                    "The number of bytes is in the header",
                    headers: tusAnswer + [offset, Header("Upload-Length", "Size in bytes")]
                )
            ],
            errors: [.gone, .preconditionFailed]
        ),
        Operation(
            .patch,
            "/v1/tus/{id}",
            id: "continueTusUpload",
            .uploads,
            "Continues an upload.",
            scope: .writeUploads,
            headers: [
                tusVersion, offset, Header("Upload-Length", "Size in bytes, if it was not known before"),
                Header("Upload-Checksum", "sha256 and the digest of the body in Base64"),
            ],
            request: .bytes(chunk),
            responses: [.empty(204, "The bytes were received", headers: tusAnswer + [offset])],
            errors: [.conflict, .gone, .checksumMismatch, .preconditionFailed, .insufficientStorage]
        ),
        Operation(
            .delete,
            "/v1/tus/{id}",
            id: "deleteTusUpload",
            .uploads,
            "Ends an upload, and deletes what was received.",
            scope: .writeUploads,
            headers: [tusVersion],
            responses: [.empty(204, "The upload is deleted", headers: [Header("Tus-Resumable", "1.0.0")])],
            errors: [.gone, .invalidState, .preconditionFailed]
        ),
    ]

    static let node: [Operation] = [
        Operation(
            .get,
            "/v1/status",
            id: "getStatus",
            .node,
            "Tells what this node does.",
            scope: .readJobs,
            responses: [.json(NodeStatus.self)]
        ),
        Operation(
            .post,
            "/v1/drain",
            id: "drainNode",
            .node,
            "Begins no more tasks on this node.",
            scope: .admin,
            query: .of(DrainQuery.self),
            responses: [.json(NodeStatus.self)]
        ),
        Operation(
            .post,
            "/v1/resume",
            id: "resumeNode",
            .node,
            "Begins tasks on this node again.",
            scope: .admin,
            responses: [.json(NodeStatus.self)]
        ),
        Operation(
            .get,
            "/healthz",
            id: "getHealth",
            .node,
            "Tells whether the process works.",
            scope: nil,
            responses: [.of([.text("text/plain; charset=utf-8")], "It works")]
        ),
        Operation(
            .get,
            "/readyz",
            id: "getReadiness",
            .node,
            "Tells whether the node accepts jobs; 503 while it does not.",
            scope: nil,
            responses: [.of([.text("text/plain; charset=utf-8")], "It is ready")]
        ),
        Operation(
            .get,
            "/metrics",
            id: "getMetrics",
            .node,
            "Reads counters and gauges for Prometheus.",
            scope: .readJobs,
            responses: [.of([.text("text/plain; version=0.0.4")], "The metrics")]
        ),
        Operation(
            .get,
            "/v1/support",
            id: "getSupportBundle",
            .node,
            "Reads what helps to find out what is wrong with the service, without secrets.",
            scope: .admin,
            responses: [.json(SupportBundle.self)]
        ),
        Operation(
            .get,
            "/",
            id: "getDashboard",
            .node,
            "Shows the dashboard.",
            scope: nil,
            responses: [.of([.text("text/html; charset=utf-8")], "The page")]
        ),
    ]

    static let keys: [Operation] = [
        Operation(
            .get,
            "/v1/keys",
            id: "listKeys",
            .keys,
            "Lists the keys.",
            scope: .admin,
            responses: [.json(KeyList.self)]
        ),
        Operation(
            .post,
            "/v1/keys",
            id: "makeKey",
            .keys,
            "Makes a key. Only this answer has its secret.",
            scope: .admin,
            request: .json(KeyRequest.self),
            responses: [.json(201, NewKey.self)]
        ),
        Operation(
            .post,
            "/v1/keys/{id}/rotate",
            id: "rotateKey",
            .keys,
            "Replaces the secret of a key. The old one is valid for a time of grace, if one is asked for.",
            scope: .admin,
            query: .of(RotationQuery.self),
            responses: [.json(NewKey.self)]
        ),
        Operation(
            .delete,
            "/v1/keys/{id}",
            id: "deleteKey",
            .keys,
            "Deletes a key, which is no longer valid.",
            scope: .admin,
            responses: [.empty(204, "The key is deleted")],
            errors: [.invalidState]
        ),
        Operation(
            .get,
            "/v1/webhooks/secret",
            id: "getWebhookSecret",
            .keys,
            "Tells the secret with which reports are signed.",
            scope: .admin,
            responses: [.json(WebhookSecret.self)]
        ),
        Operation(
            .post,
            "/v1/webhooks/secret/rotate",
            id: "rotateWebhookSecret",
            .keys,
            "Replaces the secret with which reports are signed. For a time of grace, they have both signatures.",
            scope: .admin,
            query: .of(RotationQuery.self),
            responses: [.json(WebhookSecret.self)]
        ),
    ]
}
