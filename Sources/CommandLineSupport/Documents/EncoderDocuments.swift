// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
package import MediaTypes
package import VAToolbox

extension Adjustment {
    /// The difference from the request, for programs; docs/command.md describes every key.
    package var document: JSON {
        .object([
            "property": .string(property),
            "requested": .string(requested),
            "used": .string(used),
            "reason": .string(reason),
        ])
    }
}

extension [EncoderDescription.Rejection] {
    /// The rejected encoders or decoders.
    package var document: JSON {
        .array(
            map { rejection in
                .object([
                    "name": .string(rejection.name),
                    "reason": .string(rejection.reason),
                    "cause": JSON(rejection.cause?.rawValue),
                    "remedies": JSON(rejection.remedies),
                ])
            }
        )
    }
}

extension EncoderDescription.Proof {
    /// The name of the result; `nil` if no test was required.
    package var name: String? {
        switch self {
        case .notWanted: nil
        case .decoded: "decoded"
        case .read: "read"
        case .impossible: "impossible"
        }
    }
}

extension EncoderSwitch {
    /// The switch, for programs; docs/command.md describes every key.
    package var document: JSON {
        .object([
            "frame": .integer(frame),
            "time": JSON(presentationTime.seconds),
            "from": from.document,
            "to": to.document,
            "reason": .string(reasonName),
            "repeatedFrames": .integer(repeatedFrames),
            "failures": .array(failures.map(\.document)),
        ])
    }
}

extension EncoderFailure {
    fileprivate var document: JSON {
        var members: JSON.KeyValuePairs = [
            "encoder": encoder.document,
            "stage": .string(isInCreation ? "creation" : "work"),
        ]
        members.append(error.members)
        return .object(members)
    }
}

extension EncoderIdentity {
    /// The encoder, for programs.
    package var document: JSON {
        .object(["name": .string(name), "codec": .string(codec.rawValue), "device": JSON(device)])
    }
}
