// SPDX-License-Identifier: GPL-2.0-or-later

internal import Configuration
internal import FoundationEssentials
internal import Yams

/// The settings that a service was started with: flags first, then the environment, then a file, then the defaults.
package struct SettingsSources: Sendable {
    /// The settings.
    package private(set) var settings = ServiceSettings()
    /// Where each setting that is not a default comes from, by key.
    package private(set) var origins: [String: String] = [:]

    /// Reads all sources.
    ///
    /// - Parameters:
    ///   - arguments: The flags, such as `--listen-port 80`, and `--config FILE`.
    ///   - environment: The environment, of which names that begin with `VATOOLBOX_SERVICE_` count.
    /// - Throws: `SettingsError` for an unknown name, a value that is not allowed, or an unreadable file.
    package init(arguments: [String], environment: [String: String]) async throws(SettingsError) {
        let flags = try Self.parse(arguments)
        try Self.checkVariables(environment)
        var providers: [(String, any ConfigProvider)] = [
            ("flag", Self.provider(flags, name: "flags")),
            (
                "environment",
                EnvironmentVariablesProvider(environmentVariables: environment)
                    .mapKeys { key in AbsoluteConfigKey(Self.variablePath + key.components, context: key.context) }
            ),
        ]
        let file = flags[Self.fileKey]?.last ?? environment[Setting.variablePrefix + "CONFIG"]
        if let file { providers.append((file, try await Self.read(file))) }
        for setting in Setting.all {
            let key = ConfigKey(stringLiteral: setting.key)
            for (origin, provider) in providers {
                let single = ConfigReader(provider: provider)
                let texts = setting.isList ? single.stringArray(forKey: key) : single.string(forKey: key).map { [$0] }
                guard let texts else { continue }
                do throws(SettingsError) { try setting.read(&settings, texts) } catch {
                    throw SettingsError("\(error.message) (\(origin))", given: error.given, allowed: error.allowed)
                }
                origins[setting.key] = origin
                break
            }
        }
        if settings.data.isEmpty { settings.data = Self.defaultData(environment) }
        // The processes of workers have other working folders.
        if !settings.data.hasPrefix("/") {
            settings.data = FileManager.default.currentDirectoryPath + "/" + settings.data
        }
        if origins["store.node"] == nil { settings.node = ServiceSettings.hostName }
        try settings.validate()
    }

    /// The settings as YAML, which is also a file of settings. Secrets are left out.
    package var description: String {
        var lines: [String] = []
        var section = ""
        for setting in Setting.all {
            let values = setting.show(settings)
            let origin = origins[setting.key].map { "  # \($0)" } ?? ""
            if setting.isSecret {
                lines.append("# \(setting.key): \(values.allSatisfy(\.isEmpty) ? "none" : "set")\(origin)")
                continue
            }
            var name = setting.key
            if let dot = name.firstIndex(of: ".") {
                let begin = String(name[..<dot])
                if begin != section { lines.append("\(begin):") }
                section = begin
                name = "  " + name[name.index(after: dot)...]
            } else {
                section = ""
            }
            let value = setting.isList ? "[\(values.map(Self.quoted).joined(separator: ", "))]" : Self.quoted(values[0])
            lines.append("\(name): \(value)\(origin)")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func quoted(_ text: String) -> String {
        Double(text) != nil ? text : "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }

    // MARK: Sources

    private static let fileKey = "config"
    private static let variablePath = ["vatoolbox", "service"]

    private static func parse(_ arguments: [String]) throws(SettingsError) -> [String: [String]] {
        var values: [String: [String]] = [:]
        let keys = Dictionary(uniqueKeysWithValues: Setting.all.map { ($0.flag, $0) })
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let setting = keys[parts[0]]
            guard setting != nil || parts[0] == "--\(fileKey)" else {
                throw SettingsError(
                    "there is no such flag",
                    given: argument,
                    allowed: (Setting.all.map(\.flag) + ["--config", "--print-config", "--help"]).joined(
                        separator: ", "
                    )
                )
            }
            let key = setting?.key ?? fileKey
            guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
                throw SettingsError(
                    "a flag has no value",
                    given: argument,
                    allowed: "\(argument) <\(setting?.value ?? "file")>"
                )
            }
            if setting?.isList == true {
                values[key, default: []] += value.split(separator: ",").map(String.init)
            } else {
                guard values[key] == nil else {
                    throw SettingsError("a flag is given twice", given: argument, allowed: "once")
                }
                values[key] = [value]
            }
        }
        return values
    }

    private static func checkVariables(_ environment: [String: String]) throws(SettingsError) {
        let known = Set(Setting.all.map(\.variable) + [Setting.variablePrefix + "CONFIG"])
        for name in environment.keys.sorted() where name.hasPrefix(Setting.variablePrefix) && !known.contains(name) {
            throw SettingsError(
                "there is no such environment variable",
                given: name,
                allowed: known.sorted().joined(separator: ", ")
            )
        }
    }

    private static func provider(_ values: [String: [String]], name: String) -> InMemoryProvider {
        let lists = Set(Setting.all.filter(\.isList).map(\.key))
        return InMemoryProvider(
            name: name,
            values: Dictionary(
                uniqueKeysWithValues: values.map { key, texts in
                    let value: ConfigContent = lists.contains(key) ? .stringArray(texts) : .string(texts.last ?? "")
                    return (
                        AbsoluteConfigKey(key.split(separator: ".").map(String.init)),
                        ConfigValue(value, isSecret: false)
                    )
                }
            )
        )
    }

    /// Reads a file in YAML, of which JSON is a part.
    private static func read(_ path: String) async throws(SettingsError) -> any ConfigProvider {
        let node: Node?
        do {
            node = try Yams.compose(yaml: try String(contentsOfFile: path, encoding: .utf8))
        } catch {
            throw SettingsError("the settings cannot be read: \(error)", given: path, allowed: "a file in YAML or JSON")
        }
        var values: [String: [String]] = [:]
        try flatten(node, at: "", into: &values, path)
        let known = Set(Setting.all.map(\.key))
        for key in values.keys.sorted() where !known.contains(key) {
            throw SettingsError(
                "there is no such setting (\(path))",
                given: key,
                allowed: known.sorted().joined(separator: ", ")
            )
        }
        return provider(values, name: path)
    }

    private static func flatten(
        _ node: Node?,
        at key: String,
        into values: inout [String: [String]],
        _ path: String
    ) throws(SettingsError) {
        switch node {
        case .mapping(let mapping):
            for (name, value) in mapping {
                let name = name.string ?? "?"
                try flatten(value, at: key.isEmpty ? name : "\(key).\(name)", into: &values, path)
            }
        case .sequence(let sequence):
            values[key] = sequence.map { $0.scalar?.string ?? "" }
        case .scalar(let scalar):
            values[key] = [scalar.string]
        case .alias, nil:
            guard key.isEmpty else {
                throw SettingsError("a setting has no value (\(path))", given: key, allowed: "a value")
            }
        }
    }

    /// `$XDG_STATE_HOME/vatoolbox/service`, otherwise below `~/.local/state`.
    private static func defaultData(_ environment: [String: String]) -> String {
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return "\(state)/vatoolbox/service" }
        return "\(environment["HOME"] ?? "")/.local/state/vatoolbox/service"
    }
}
