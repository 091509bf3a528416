// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension ScreenCastPortal {
    /// What the user is asked for.
    public struct Request: Sendable, Hashable {
        /// Kinds of screens: the bits of `AvailableSourceTypes`.
        public struct Sources: OptionSet, Sendable, Hashable {
            /// The bits.
            public let rawValue: UInt32
            /// Makes kinds of their bits.
            public init(rawValue: UInt32) { self.rawValue = rawValue }
            /// A monitor.
            public static let monitor = Sources(rawValue: 1)
            /// A window.
            public static let window = Sources(rawValue: 2)
            /// A new virtual monitor.
            public static let virtual = Sources(rawValue: 4)
        }

        /// How long a permission lasts: the numbers of `persist_mode`.
        public enum Persistence: UInt32, Sendable, Hashable {
            /// For one capture.
            case once = 0
            /// As long as this program runs.
            case whileRunning = 1
            /// Until the user revokes it.
            case untilRevoked = 2
        }

        /// The kinds that the user can choose among. Those that the desktop does not have are left out.
        public var sources: Sources
        /// Whether the pictures have the cursor in them.
        public var drawsCursor: Bool
        /// How long the permission may last. A desktop that cannot keep permissions asks every time.
        public var persistence: Persistence
        /// The word of an earlier permission (``ScreenCastPortal/restoreToken``).
        public var restoreToken: String?
        /// The file in which the word is kept between runs, readable for the user only; it is not kept if `nil`.
        public var tokenPath: String?
        /// The longest wait for the user's answer, in seconds.
        public var patience: Int32

        /// The address of the session bus; the usual one if `nil`.
        package var bus: String?
        /// The longest wait for a plain answer of the portal, in milliseconds.
        package var answerLimit = PortalClient.answerLimit

        /// Describes a question.
        public init(
            sources: Sources = [.monitor, .window],
            drawsCursor: Bool = true,
            persistence: Persistence = .untilRevoked,
            restoreToken: String? = nil,
            tokenPath: String? = nil,
            patience: Int32 = 120
        ) {
            (self.sources, self.drawsCursor, self.persistence) = (sources, drawsCursor, persistence)
            (self.restoreToken, self.tokenPath, self.patience) = (restoreToken, tokenPath, patience)
        }

        /// The usual path for ``tokenPath``: `vatoolbox/screen-cast` in `XDG_STATE_HOME`, or in `~/.local/state`; `nil`
        /// if the user has no home folder.
        public static var usualTokenPath: String? { RestoreToken.usualPath }

        var dialogLimit: Int64 { Int64(max(patience, 0)) * 1000 }
    }
}

/// What the portal of a desktop offers for screens: the properties of the interface. A pure value.
struct ScreenCastOffer: Sendable, Hashable {
    /// The version of the interface.
    var version: UInt32
    /// The kinds of screens.
    var sources: ScreenCastPortal.Request.Sources
    /// The bits of cursor modes: 1 without it, 2 in the pictures, 4 apart from them.
    var cursorModes: UInt32

    init(_ properties: [String: BusValue]) {
        version = properties["version"]?.number ?? 1
        sources = .init(rawValue: properties["AvailableSourceTypes"]?.number ?? 0)
        cursorModes = properties["AvailableCursorModes"]?.number ?? 0
    }

    /// Whether permissions can be kept, from version 4 on.
    var canRestore: Bool { version >= 4 }

    /// Returns the options of `SelectSources`.
    ///
    /// - Throws: `unsupported` if none of the kinds, or not the cursor in the pictures, is offered.
    func selection(_ request: ScreenCastPortal.Request) throws(MediaError) -> [String: BusValue] {
        let chosen = sources.intersection(request.sources)
        guard !chosen.isEmpty else {
            throw PortalFailure.missing(
                "such screens",
                given: Self.names(request.sources),
                allowed: Self.names(sources)
            )
        }
        var options: [String: BusValue] = ["types": .unsigned(chosen.rawValue), "multiple": .flag(false)]
        // Without cursor modes, before version 2, a desktop draws no cursor.
        let mode: UInt32 = request.drawsCursor ? 2 : 1
        if version >= 2, cursorModes & mode != 0 {
            options["cursor_mode"] = .unsigned(mode)
        } else if request.drawsCursor {
            throw PortalFailure.missing(
                "pictures with the cursor",
                given: "version \(version) of the portal, cursor modes \(cursorModes)",
                allowed: "pictures without the cursor"
            )
        }
        if canRestore { options["persist_mode"] = .unsigned(request.persistence.rawValue) }
        return options
    }

    private static func names(_ sources: ScreenCastPortal.Request.Sources) -> String {
        let all: [(ScreenCastPortal.Request.Sources, String)] = [
            (.monitor, "monitors"), (.window, "windows"), (.virtual, "virtual monitors"),
        ]
        return Readable.list(all.filter { sources.contains($0.0) }.map(\.1))
    }
}
