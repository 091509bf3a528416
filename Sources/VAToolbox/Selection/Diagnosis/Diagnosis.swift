// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes
package import RenderNodes

/// Why an encoder cannot be used, and what its user can do about it.
///
/// A pure value, concluded from facts: what a render node or a driver refused, and what is known of the GPU behind it
/// (``DeviceFacts``). The same value is told by `probe`, by what a session rejects, and by its errors.
package struct Diagnosis: Sendable, Hashable {
    /// What has to change, as a stable name.
    package var cause: MediaError.Cause
    /// What was found, and what is concluded from it: one or two sentences.
    package var explanation: String
    /// What to do, the likeliest remedy first. Commands stand alone after a colon, ready to be copied.
    package var remedies: [String]

    /// Makes a diagnosis.
    package init(_ cause: MediaError.Cause, _ explanation: String, remedies: [String] = []) {
        self.cause = cause
        self.explanation = explanation
        self.remedies = remedies
    }

    /// Why a render node cannot be used.
    package init(_ refusal: NodeRefusal) {
        self.init(
            MediaError.Cause(rawValue: refusal.cause.rawValue),
            refusal.explanation,
            remedies: refusal.remedies
        )
    }
}
