// SPDX-License-Identifier: GPL-2.0-or-later

internal import JobStore

/// What an operator asks of the database of a service on several machines.
package struct ClusterRequest: Sendable, Hashable {
    enum Action: Sendable, Hashable {
        /// Creates the tables or brings them to this version, and lets a role use them.
        case migrate(role: String?)
        /// Looks whether everything is right.
        case examine
    }

    let action: Action
    let location: String

    /// What was done or found.
    package struct Report: Sendable, Hashable {
        /// For people.
        package var text: String
        /// Whether nothing is wrong.
        package var isRight: Bool
    }

    /// Reads a request.
    ///
    /// - Parameters:
    ///   - arguments: `migrate` or `doctor`, the location unless the environment has it, and `--grant ROLE`.
    ///   - environment: The environment.
    /// - Throws: `SettingsError`, which does not have the location: there may be a password in it.
    package init(arguments: [String], environment: [String: String]) throws(SettingsError) {
        var rest = arguments.dropFirst()
        var (location, role): (String?, String?)
        while let argument = rest.popFirst() {
            if argument == "--grant" {
                guard let name = rest.popFirst(), !name.isEmpty else {
                    throw SettingsError("a flag has no value", given: argument, allowed: "--grant <role>")
                }
                role = name
            } else if argument.hasPrefix("--") || location != nil {
                throw SettingsError(
                    "there is no such argument",
                    given: argument.hasPrefix("--") ? argument : "a second location",
                    allowed: "one location, and --grant <role> with migrate"
                )
            } else {
                location = argument
            }
        }
        switch (arguments.first, role) {
        case ("migrate", _): action = .migrate(role: role)
        case ("doctor", nil): action = .examine
        case ("doctor", _):
            throw SettingsError("there is no such flag of doctor", given: "--grant", allowed: "--grant with migrate")
        default:
            throw SettingsError(
                "there is no such subcommand of cluster",
                given: arguments.first ?? "none",
                allowed: "migrate, doctor"
            )
        }
        let text = location ?? environment[Self.variable] ?? ""
        guard !text.isEmpty, PostgreSQLJobStore.isLocation(text) else {
            throw SettingsError(
                text.isEmpty ? "there is no location of the database" : "the location is malformed",
                given: text.isEmpty ? "none" : "a text of \(text.utf8.count) bytes, which is not shown",
                allowed: "postgresql://USER@HOST[:PORT]/DATABASE, as an argument or \(Self.variable)"
            )
        }
        self.location = text
    }

    private static let variable = Setting.variablePrefix + "STORE_LOCATION"

    /// Does what was asked. A server that cannot be reached is something that is wrong.
    package func run() async -> Report {
        do throws(StoreError) {
            switch action {
            case .migrate(let role):
                let (from, to) = try await PostgreSQLJobStore.migrate(location, grantingTo: role)
                let text =
                    from == 0
                    ? "the tables were created (version \(to))"
                    : from == to
                        ? "the tables have version \(to) already"
                        : "the tables were brought from version \(from) to \(to)"
                return Report(text: text + (role.map { "; \($0) may use them" } ?? ""), isRight: true)
            case .examine:
                let findings = try await PostgreSQLJobStore.examine(location)
                let lines = findings.flatMap { finding in
                    ["\(finding.subject): \(finding.value)"] + (finding.problem.map { ["  WRONG: \($0)"] } ?? [])
                }
                return Report(
                    text: lines.joined(separator: "\n"),
                    isRight: findings.allSatisfy { $0.problem == nil }
                )
            }
        } catch {
            return Report(text: "WRONG: \(error)", isRight: false)
        }
    }
}
