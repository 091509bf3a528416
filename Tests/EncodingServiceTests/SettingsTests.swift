// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import EncodingService

@Suite struct SettingsTests {
    private func settings(
        _ arguments: [String] = [],
        _ environment: [String: String] = [:]
    ) async throws -> ServiceSettings {
        try await SettingsSources(arguments: arguments, environment: ["HOME": "/home/me"].merging(environment) { $1 })
            .settings
    }

    @Test func flagsComeBeforeTheEnvironment() async throws {
        let settings = try await settings(
            ["--listen-port", "1", "--uploads-limit=3M"],
            ["VATOOLBOX_SERVICE_LISTEN_PORT": "2", "VATOOLBOX_SERVICE_WORKERS_COUNT": "7"]
        )
        #expect(settings.port == 1)
        #expect(settings.workers == 7)
        #expect(settings.uploadLimit == 3 << 20)
        #expect(settings.data == "/home/me/.local/state/vatoolbox/service")
    }

    @Test func whatIsPrintedCanBeReadAgain() async throws {
        let arguments = ["--media-roots", "films=/srv/a b,tv=/srv/tv", "--drain-timeout", "1.5", "--data", "/x \"y\""]
        let sources = try await SettingsSources(arguments: arguments, environment: [:])
        let file = try TemporaryFile(sources.description)
        let again = try await SettingsSources(arguments: ["--config", file.path], environment: [:])
        #expect(again.settings == sources.settings)
        #expect(again.settings.mediaRoots == ["films": "/srv/a b", "tv": "/srv/tv"])
    }

    @Test func secretsAreNotPrinted() async throws {
        let sources = try await SettingsSources(arguments: [], environment: ["VATOOLBOX_SERVICE_ACCESS_TOKEN": "hush"])
        #expect(sources.settings.token == "hush")
        #expect(!sources.description.contains("hush"))
    }

    @Test func nodesHaveNamesAndAStore() async throws {
        let plain = try await settings()
        #expect(plain.storeLocation.isEmpty)
        #expect(plain.node == ServiceSettings.hostName)
        let location = "postgresql://me:hush@db.example.com/jobs?sslmode=verify-full"
        let environment = ["VATOOLBOX_SERVICE_STORE_LOCATION": location, "VATOOLBOX_SERVICE_STORE_NODE": "rack-2.a"]
        let sources = try await SettingsSources(arguments: ["--data", "/x"], environment: environment)
        #expect(sources.settings.storeLocation == location)
        #expect(sources.settings.node == "rack-2.a")
        #expect(!sources.description.contains("hush"))
        #expect(sources.settings.shownTexts["store.location"] == "set")
    }

    @Test(arguments: ["postgresql//me:hush@host/jobs", "password=hush x", "hush", "host=h port"])
    func malformedLocationsAreNotShown(_ location: String) async throws {
        let error = await #expect(throws: SettingsError.self) { try await settings(["--store-location", location]) }
        #expect(error?.message == "store.location is malformed")
        #expect(error?.description.contains("hush") == false)
        let request = #expect(throws: SettingsError.self) {
            try ClusterRequest(arguments: ["migrate", location], environment: [:])
        }
        #expect(request?.description.contains("hush") == false)
    }

    @Test func clusterRequestsAreRead() throws {
        let location = "host=/run/postgresql dbname=jobs"
        let environment = ["VATOOLBOX_SERVICE_STORE_LOCATION": location]
        #expect(
            try ClusterRequest(arguments: ["migrate", "--grant", "encoder"], environment: environment).action
                == .migrate(role: "encoder")
        )
        #expect(try ClusterRequest(arguments: ["doctor", location], environment: [:]).location == location)
        for arguments in [["doctor"], ["heal", location], ["doctor", location, location], ["migrate", "--grant"]] {
            let error = #expect(throws: SettingsError.self) {
                try ClusterRequest(arguments: arguments, environment: [:])
            }
            #expect(error?.allowed.isEmpty == false)
        }
    }

    @Test(arguments: [
        (["--listen-prot", "1"], "--listen-prot"), (["--listen-port", "70000"], "70000"),
        (["--listen-port"], "--listen-port"),
        (["--uploads-limit", "9999999T"], "9999999T"), (["--log-level", "loud"], "loud"),
        (["--tls-key", "k"], "tls.key alone"),
        (["--listen-host", "0.0.0.0"], "listen.host=0.0.0.0"), (["--media-roots", "a=b"], "a=b"),
        (["--media-roots", "a=/b,a=/c"], "a"), (["--network-allow", "10.0.0.0/33"], "10.0.0.0/33"),
        (["--listen-port", "1", "--listen-port", "2"], "--listen-port"),
        (["--store-node", "a/b"], "a/b"), (["--store-node", ""], "empty"), (["--store-node", ".."], ".."),
        (["--store-node", "a b"], "a b"),
    ])
    func whatIsNotAllowedIsToldWithWhatIs(_ arguments: [String], _ given: String) async throws {
        let error = await #expect(throws: SettingsError.self) {
            try await settings(arguments).validateServer()
        }
        #expect(error?.given.contains(given) == true)
        #expect(error?.allowed.isEmpty == false)
    }

    @Test func unknownVariablesAndKeysAreErrors() async throws {
        await #expect(throws: SettingsError.self) { try await settings([], ["VATOOLBOX_SERVICE_LISTEN_PROT": "1"]) }
        let file = try TemporaryFile("listen:\n  port: 1\n  prot: 2\n")
        let error = await #expect(throws: SettingsError.self) { try await settings(["--config", file.path]) }
        #expect(error?.given == "listen.prot")
    }
}
