// SPDX-License-Identifier: GPL-2.0-or-later

/// One of the settings: its key, its values and how it is read and shown.
///
/// The key `uploads.limit` is the flag `--uploads-limit`, the variable `VATOOLBOX_SERVICE_UPLOADS_LIMIT`, and `limit`
/// below `uploads` in a file.
package struct Setting: Sendable {
    /// The key.
    package let key: String
    /// What its value is, such as `seconds`.
    package let value: String
    /// What it is for.
    package let help: String
    /// Whether its value is not shown.
    package let isSecret: Bool
    let isList: Bool
    let read: @Sendable (inout ServiceSettings, [String]) throws(SettingsError) -> Void
    let show: @Sendable (ServiceSettings) -> [String]

    /// The flag.
    package var flag: String { "--" + key.replacing(".", with: "-") }
    /// The environment variable.
    package var variable: String { Self.variablePrefix + key.replacing(".", with: "_").uppercased() }

    /// The default as text, for the help.
    package func help(defaults: ServiceSettings) -> String {
        let value = show(defaults).joined(separator: ",")
        return value.isEmpty ? "" : " (default: \(value))"
    }

    static let variablePrefix = "VATOOLBOX_SERVICE_"

    /// All settings, in the order of the help.
    package static let all: [Setting] = [
        .text("listen.host", \.host, "address", "Address to listen on"),
        .integer("listen.port", \.port, in: 0...65535, "port", "TCP port; 0 for any free one"),
        .text("tls.certificate", \.certificate, "file", "PEM file of the certificate chain, for HTTPS and HTTP/2"),
        .text("tls.key", \.privateKey, "file", "PEM file of its private key"),
        .text(
            "access.token",
            \.token,
            "text",
            "Secret that clients must send; better in the environment",
            isSecret: true
        ),
        .integer(
            "access.requests",
            \.requestRate,
            in: 0...1_000_000,
            "number",
            "Requests a second that one key or link may send, twice as many at once; not the token; 0: no limit"
        ),
        .integer(
            "access.wrong-keys",
            \.wrongKeys,
            in: 0...1_000_000,
            "number",
            "Wrong keys a minute that may come from one address, such as that of a proxy; 0: no limit"
        ),
        .text(
            "data",
            \.data,
            "folder",
            "Folder of jobs, uploads and results (default: ~/.local/state/vatoolbox/service)"
        ),
        .list("media.roots", \.roots, "name=folder,…", "Folders from which jobs may read"),
        .list("media.writable", \.writableRoots, "name,…", "Those of these folders to which jobs may deliver results"),
        .list(
            "s3.stores",
            \.stores,
            "name=url,…",
            "Stores of the S3 protocol: http[s]://HOST[:PORT][?region=REGION][&style=path|host]"
        ),
        .list(
            "s3.credentials",
            \.storeCredentials,
            "name=key:secret,…",
            "Their access keys and secrets; better in the environment",
            isSecret: true
        ),
        .list(
            "s3.credential-files",
            \.storeCredentialFiles,
            "name=file,…",
            "The same in files, with an access key and a secret on two lines"
        ),
        .text("program", \.program, "file", "Path of the program vatoolbox (default: beside vatoolbox-service)"),
        .integer(
            "workers.count",
            \.workers,
            in: 0...1024,
            "number",
            "Tasks at a time; 0: by measured load of processors and GPUs, up to four per processor"
        ),
        .seconds(
            "workers.stall-timeout",
            \.stallTimeout,
            in: 1...86400,
            "Ends a task that makes no progress for this long"
        ),
        .bytes("workers.memory", \.taskMemory, in: 0...Int.max, "Ends a task that takes more memory; 0: no limit"),
        .integer(
            "workers.nice",
            \.niceness,
            in: 0...19,
            "number",
            "Added to the nice value of tasks, streams, probes and dry runs, so that requests are answered meanwhile"
        ),
        .integer(
            "devices.sessions",
            \.mostSessions,
            in: 0...1000,
            "number",
            "Sessions of a GPU at a time, beyond which tasks take another GPU or the CPU; 0: no limit"
        ),
        .integer(
            "streams.count",
            \.streams,
            in: 0...1024,
            "number",
            "Streams at a time; 0: twice workers.count, or if that is 0, too, one per processor, at least two"
        ),
        .integer(
            "live.count",
            \.live,
            in: 0...1024,
            "number",
            "Live jobs at a time; 0: one per processor, at least two"
        ),
        .seconds("drain.timeout", \.drainTimeout, in: 0...604_800, "How long tasks may go on after SIGTERM"),
        .bytes("uploads.limit", \.uploadLimit, in: 1...Int.max, "Largest upload"),
        .seconds(
            "uploads.lifetime",
            \.uploadLifetime,
            in: 60...31_536_000,
            "How long an upload is kept after its last use"
        ),
        .bytes("inputs.limit", \.inputLimit, in: 1...Int.max, "Largest input that is fetched"),
        .seconds(
            "inputs.stall-timeout",
            \.fetchTimeout,
            in: 1...86400,
            "Gives up an input whose server sends less than 10 KiB a second on average for this long"
        ),
        .integer(
            "inputs.pixels",
            \.inputPixels,
            in: 1...Int(Int32.max),
            "number",
            "Most pixels of a picture of an input"
        ),
        .integer("inputs.tracks", \.inputTracks, in: 1...1000, "number", "Most tracks of an input"),
        .integer(
            "inputs.duration",
            \.inputDuration,
            in: 0...Int(Int32.max),
            "seconds",
            "Longest input, as its headers state it; 0: no limit"
        ),
        .bytes("disk.reserve", \.diskReserve, in: 0...Int.max, "Begins no task if less is free on the disk"),
        .bytes(
            "memory.reserve",
            \.memoryReserve,
            in: 0...Int.max,
            "Begins no task beside others if less memory is available to the machine or container; 0: no limit"
        ),
        .text(
            "store.location",
            \.storeLocation,
            "location",
            "PostgreSQL server for jobs of several machines, as libpq takes it; better in the environment",
            isSecret: true
        ),
        .text(
            "store.node",
            \.node,
            "name",
            "Name of this machine among those that use the same store (default: the host name)"
        ),
        .seconds(
            "store.lease",
            \.lease,
            in: 1...3600,
            "How long a task stays with a worker that gives no sign of life"
        ),
        .seconds("store.backup-interval", \.backupInterval, in: 1...86400, "Interval between backups of the job store"),
        .integer(
            "jobs.limit",
            \.jobLimit,
            in: 1...10_000_000,
            "number",
            "Tasks that may wait or run at a time; beyond that, jobs are refused"
        ),
        .seconds("watch.interval", \.watchInterval, in: 0.1...86400, "How often watched folders are read"),
        .seconds("http.idle-timeout", \.idleTimeout, in: 1...86400, "How long an idle connection is kept"),
        .list(
            "network.allow",
            \.allowedAddresses,
            "address,…",
            "Private addresses that webhooks and fetched inputs may use"
        ),
        .choice(
            "log.level",
            \.logLevel,
            ["trace", "debug", "info", "notice", "warning", "error"],
            "Lowest level that is logged"
        ),
        .choice("log.format", \.logFormat, ["text", "json"], "Form of log lines"),
    ]

    // MARK: Kinds

    private typealias Path<Value> = WritableKeyPath<ServiceSettings, Value> & Sendable

    private static func text(
        _ key: String,
        _ path: any Path<String>,
        _ value: String,
        _ help: String,
        isSecret: Bool = false
    ) -> Setting {
        Setting(key: key, value: value, help: help, isSecret: isSecret, isList: false) {
            settings,
            texts throws(SettingsError) in
            settings[keyPath: path] = texts.last ?? ""
        } show: {
            [$0[keyPath: path]]
        }
    }

    private static func list(
        _ key: String,
        _ path: any Path<[String]>,
        _ value: String,
        _ help: String,
        isSecret: Bool = false
    ) -> Setting {
        Setting(key: key, value: value, help: help, isSecret: isSecret, isList: true) {
            settings,
            texts throws(SettingsError) in
            settings[keyPath: path] = texts
        } show: {
            $0[keyPath: path]
        }
    }

    private static func choice(_ key: String, _ path: any Path<String>, _ choices: [String], _ help: String) -> Setting
    {
        Setting(key: key, value: choices.joined(separator: "|"), help: help, isSecret: false, isList: false) {
            settings,
            texts throws(SettingsError) in
            let text = texts.last ?? ""
            guard choices.contains(text) else {
                throw SettingsError("\(key) is unknown", given: text, allowed: choices.joined(separator: ", "))
            }
            settings[keyPath: path] = text
        } show: {
            [$0[keyPath: path]]
        }
    }

    private static func integer(
        _ key: String,
        _ path: any Path<Int>,
        in range: ClosedRange<Int>,
        _ value: String,
        _ help: String,
        allowed: String? = nil,
        parse: @escaping @Sendable (String) -> Int? = { Int($0) },
        text: @escaping @Sendable (Int) -> String = { "\($0)" }
    ) -> Setting {
        Setting(key: key, value: value, help: help, isSecret: false, isList: false) {
            settings,
            texts throws(SettingsError) in
            let text = texts.last ?? ""
            guard let number = parse(text), range.contains(number) else {
                let most = range.upperBound == .max ? "" : " to \(range.upperBound)"
                throw SettingsError(
                    "\(key) is not allowed",
                    given: text,
                    allowed: "\(allowed ?? value), from \(range.lowerBound)\(most)"
                )
            }
            settings[keyPath: path] = number
        } show: {
            [text($0[keyPath: path])]
        }
    }

    private static func bytes(_ key: String, _ path: any Path<Int>, in range: ClosedRange<Int>, _ help: String)
        -> Setting
    {
        integer(
            key,
            path,
            in: range,
            "bytes",
            help,
            allowed: "bytes, or with K, M, G or T for powers of 1024",
            parse: byteCount,
            text: byteText
        )
    }

    private static func seconds(
        _ key: String,
        _ path: any Path<Double>,
        in range: ClosedRange<Double>,
        _ help: String
    ) -> Setting {
        Setting(key: key, value: "seconds", help: help, isSecret: false, isList: false) {
            settings,
            texts throws(SettingsError) in
            let text = texts.last ?? ""
            guard let number = Double(text), range.contains(number) else {
                throw SettingsError(
                    "\(key) is not allowed",
                    given: text,
                    allowed: "seconds, \(range.lowerBound) to \(range.upperBound)"
                )
            }
            settings[keyPath: path] = number
        } show: {
            let number = $0[keyPath: path]
            return [Int(exactly: number).map { "\($0)" } ?? "\(number)"]
        }
    }

    /// A number of bytes as people write it, such as `20G`.
    static func byteText(_ count: Int) -> String {
        var (number, power) = (count, 0)
        while power < 4, number > 0, number % 1024 == 0 { (number, power) = (number / 1024, power + 1) }
        return "\(number)" + ["", "K", "M", "G", "T"][power]
    }

    /// Parses a number of bytes such as `20G`; `nil` if it is none or does not fit.
    static func byteCount(_ text: String) -> Int? {
        guard let last = text.last else { return nil }
        guard let power = ["K", "M", "G", "T"].firstIndex(of: last.uppercased()) else { return Int(text) }
        guard let number = Int(text.dropLast()) else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: 1 << (10 * (power + 1)))
        return overflow ? nil : product
    }
}
