// SPDX-License-Identifier: GPL-2.0-or-later

public import AudioCoding

/// A source of sound that can be opened, for lists.
public struct SoundSourceDescription: Sendable, Hashable {
    /// The name with which it is opened.
    public var name: String
    /// The description for people, without line breaks.
    public var text: String
    /// Whether it is the one that is used by default.
    public var isDefault: Bool
    /// Whether it delivers what the system plays, and not a microphone.
    public var isMonitor: Bool
    /// Whether it delivers what the system plays by default.
    public var isDefaultMonitor: Bool
    /// The format of its samples; `nil` if it is not known before it is opened, or has no counterpart.
    public var format: AudioFormat?

    /// Describes a source.
    public init(
        name: String,
        text: String,
        isDefault: Bool = false,
        isMonitor: Bool = false,
        isDefaultMonitor: Bool = false,
        format: AudioFormat? = nil
    ) {
        (self.name, self.text, self.format) = (name, text, format)
        (self.isDefault, self.isMonitor, self.isDefaultMonitor) = (isDefault, isMonitor, isDefaultMonitor)
    }
}
