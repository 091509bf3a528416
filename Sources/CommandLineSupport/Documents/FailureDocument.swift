// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes
package import VAToolbox

extension JSON {
    /// Returns the document for an error that ended the work.
    ///
    /// - Parameters:
    ///   - path: The output that has failed, if there are several.
    ///   - switches: The earlier encoder switches; `nil` if there were no encoders.
    package static func failure(
        _ error: MediaError,
        _ status: ExitStatus,
        path: String? = nil,
        switches: [EncoderSwitch]? = nil
    ) -> JSON {
        failure(status, error.members, path, switches)
    }

    /// Returns the document for an invalid command line.
    package static func usageFailure(_ message: String) -> JSON {
        failure(
            .usage,
            [
                "code": .string("usage"), "message": .string(message), "given": .null, "allowed": .null,
                "call": .null, "callStatus": .null, "cause": .null, "remedies": .array([]),
            ]
        )
    }

    private static func failure(
        _ status: ExitStatus,
        _ error: KeyValuePairs,
        _ path: String? = nil,
        _ switches: [EncoderSwitch]? = nil
    ) -> JSON {
        var document: KeyValuePairs = [
            "status": .string(status.name),
            "exitStatus": .integer(Int(status.rawValue)),
            "error": .object(error),
        ]
        if let path { document.append("path", .string(path)) }
        if let switches { document.append("switches", .array(switches.map(\.document))) }
        return .object(document)
    }
}

extension MediaError {
    /// The members that describe it to programs.
    var members: JSON.KeyValuePairs {
        [
            "code": .string(code.rawValue),
            "message": .string(message),
            "given": JSON(given),
            "allowed": JSON(allowed),
            "call": JSON(call),
            "callStatus": JSON(status),
            "cause": JSON(cause?.rawValue),
            "remedies": JSON(remedies),
        ]
    }
}
