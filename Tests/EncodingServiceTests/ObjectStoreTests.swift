// SPDX-License-Identifier: GPL-2.0-or-later

import JobStore
import ServiceAPI
import Testing

@testable import EncodingService

@Suite struct ObjectStoreTests {
    /// Those of the examples in Amazon's "Signature Calculations for the Authorization Header".
    private let credentials = S3Credentials(
        accessKey: "AKIAIOSFODNN7EXAMPLE",
        secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    )
    private let time = 1_369_353_600.0

    private func signature(_ request: S3Request) -> String? {
        S3Signature.fields(of: request, credentials, region: "us-east-1", at: time)["authorization"]
    }

    private func request(_ method: String, _ key: String) throws -> S3Request {
        let endpoint = try #require(S3Endpoint("https://s3.amazonaws.com?style=host"))
        return endpoint.request(method, bucket: "examplebucket", key: key)
    }

    @Test func aReadIsSignedAsSpecified() throws {
        var request = try request("GET", "test.txt")
        request.fields = ["range": "bytes=0-9"]
        #expect(
            signature(request)
                == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
                + "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
                + "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        )
    }

    @Test func aWriteIsSignedAsSpecified() throws {
        var request = try request("PUT", "test$file.text")
        #expect(request.path == "/test%24file.text")
        request.fields = ["date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"]
        request.bodyHash = Digest.sha256("Welcome to Amazon S3.".utf8)
        #expect(
            signature(request)?.hasSuffix("=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd") == true
        )
    }

    @Test(arguments: [
        (["lifecycle": ""], "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        (["max-keys": "2", "prefix": "J"], "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ])
    func queriesAreSignedAsSpecified(_ query: [String: String], _ code: String) throws {
        var request = try request("GET", "")
        request.query = query
        #expect(signature(request)?.hasSuffix("Signature=\(code)") == true)
    }

    @Test func namesAreEncodedOnce() throws {
        let endpoint = try #require(S3Endpoint("http://10.0.0.1:9000/?region=eu-1"))
        #expect(endpoint.region == "eu-1" && endpoint.scheme == "http" && !endpoint.hasBucketHosts)
        let request = endpoint.request("GET", bucket: "films", key: "a b/é+%?#~.mp4")
        #expect(request.host == "10.0.0.1:9000")
        #expect(request.path == "/films/a%20b/%C3%A9%2B%25%3F%23~.mp4")
        // Slashes are bytes, whatever follows them.
        #expect(endpoint.request("GET", bucket: "films", key: "a/\u{301}b").path == "/films/a/%CC%81b")
        var listed = request
        listed.query = ["uploadId": "a/b=", "partNumber": "1"]
        #expect(listed.encodedQuery == "partNumber=1&uploadId=a%2Fb%3D")
    }

    @Test(arguments: [
        "ftp://host", "host", "https://", "https://host/path", "https://me:word@host", "https://host?regio=x",
        "https://host?style=other", "https://host?region=", "https://host#x", "https://host?region=a/b",
        "https://1.2.3.4:70000", "https://host:0", "https://%5B", "https://a%20b", "https://[]",
    ])
    func malformedEndpointsAreNone(_ text: String) { #expect(S3Endpoint(text) == nil) }

    @Test func partsAreFewEnough() throws {
        #expect(try S3Target.partSize(ofFile: 9 << 20) == 8 << 20)
        let large = 1 << 40
        let size = try S3Target.partSize(ofFile: large)
        #expect((large + size - 1) / size <= 10_000)
        #expect(throws: TransferFailure.self) { try S3Target.partSize(ofFile: 1 << 50) }
    }

    @Test func elementsOfAnswersAreFound() {
        let text = "<?xml version=\"1.0\"?><R><UploadId>a&amp;b&lt;</UploadId><Code>x</Code></R>"
        #expect(XMLText.element("UploadId", in: text) == "a&b<")
        #expect(XMLText.element("Code", in: text) == "x")
        #expect(XMLText.element("Other", in: text) == nil)
        #expect(XMLText.element("Code", in: "<Code>x") == nil)
        #expect(XMLText.element("Code", in: "</Code><Code>") == nil)
        #expect(XMLText.escape("<a&b>") == "&lt;a&amp;b&gt;")
    }

    @Test func notesOfTransfersAreReadAgain() throws {
        for transfer in [
            PendingTransfer.parts(store: nil, bucket: "b", key: "k", upload: "u"),
            .parts(store: "s", bucket: "b", key: "k", upload: "u"), .file(folder: "films/a", name: ".x"),
        ] {
            #expect(PendingTransfer(try JSONValue(parsing: transfer.json.bytes)) == transfer)
        }
        #expect(PendingTransfer(["bucket": "b"]) == nil)
    }

    // MARK: Deliveries

    @Test func aDeliveryWaitsForAllOutputs() {
        let request = JobRequest {
            $0.outputs = [Output { $0.name = "a.mp4" }, Output { ($0.name, $0.kind) = ("b.m3u8", .hls) }]
        }
        #expect(JobPlanner.tasks(of: request, upload: nil).map(\.kind) == ["encode", "encode"])
        var delivered = request
        delivered.destination = Destination { $0.path = "films/x" }
        let tasks = JobPlanner.tasks(of: delivered, upload: nil)
        #expect(tasks.map(\.kind) == ["encode", "encode", "deliver"])
        #expect(tasks[2].dependencies == [0, 1])
        #expect(JobPlanner.outputs(ofPayload: tasks[2].payload).isEmpty)
    }

    @Test func filesThatNameOthersComeLast() throws {
        let task = TaskID(job: try #require(JobID(rawValue: "00000000000000000000000000")), index: 0)
        let paths = ["show.m3u8", "show.mpd", "show/720p/index.m3u8", "show/720p/1.m4s", "film.mp4"]
        let files = paths.map { path in (task, ResultFile { $0.path = path }) }
        #expect(
            Deliverer.ordered(files).map(\.1.path)
                == ["show/720p/1.m4s", "film.mp4", "show/720p/index.m3u8", "show.m3u8", "show.mpd"]
        )
    }

    // MARK: Settings

    private func settings(_ arguments: [String]) async throws -> ServiceSettings {
        try await SettingsSources(arguments: arguments, environment: ["HOME": "/home/me"]).settings
    }

    @Test func credentialsComeFromFilesOrSettings() async throws {
        let file = try TemporaryFile("KEY\nsecret+/=\n")
        let settings = try await settings([
            "--s3-stores", "a=https://a,b=https://b", "--s3-credentials", "a=ID:se:cret", "--s3-credential-files",
            "b=\(file.path)",
        ])
        #expect(try settings.credentials(ofStore: "a") == S3Credentials(accessKey: "ID", secretKey: "se:cret"))
        #expect(try settings.credentials(ofStore: "b") == S3Credentials(accessKey: "KEY", secretKey: "secret+/="))
        let stores = try ObjectStores(settings)
        #expect(throws: APIError.self) { try stores.store(nil, field: "store") }
        #expect(throws: APIError.self) { try stores.store("c", field: "store") }
        #expect(try stores.store("b", field: "store").endpoint.host == "b")
    }

    @Test(arguments: [
        (["--s3-stores", "a"], "a"), (["--s3-stores", "a=ftp://x"], "a=ftp://x"),
        (["--s3-stores", "a=https://x"], "0"),
        (["--s3-credentials", "a=hush:hush"], "a"), (["--s3-credentials", "hush"], "without a name"),
        (["--s3-stores", "a=https://x,a=https://y", "--s3-credentials", "a=k:s"], "a"),
        (["--s3-stores", "a=https://x", "--s3-credentials", "a=k:s,a=k:s"], "2"),
        (["--media-writable", "films"], "films"),
    ])
    func contradictionsAreRefused(_ arguments: [String], _ given: String) async throws {
        let error = await #expect(throws: SettingsError.self) { try await settings(arguments) }
        #expect(error?.given.contains(given) == true)
        #expect(error?.description.contains("hush") == false)
    }

    @Test(arguments: ["a=k", "a="])
    func malformedCredentialsAreRefused(_ text: String) async throws {
        let settings = try await settings(["--s3-stores", "a=https://x", "--s3-credentials", text])
        let error = #expect(throws: SettingsError.self) { try ObjectStores(settings) }
        #expect(error?.given == "those of the store a")
    }
}
