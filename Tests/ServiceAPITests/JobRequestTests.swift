// SPDX-License-Identifier: GPL-2.0-or-later

import ServiceAPI
import Testing

@Suite("Requests of jobs")
struct JobRequestTests {
    static let minimal = #"{"input":{"path":"media/a.mov"},"outputs":[{"kind":"file","name":"a.mp4"}]}"#

    /// Reads a request like ``minimal`` with other outputs or more keys.
    static func request(
        input: String = #"{"path":"media/a.mov"}"#,
        output: String = #""kind":"file","name":"a.mp4""#,
        more: String = ""
    ) throws(APIError) -> JobRequest {
        try JobRequest.decode(json: Array(#"{"input":\#(input),"outputs":[{\#(output)}]\#(more)}"#.utf8))
    }

    @Test("What is not given has its default")
    func fillsInDefaults() throws {
        let request = try JobRequest.decode(json: Array(Self.minimal.utf8))
        let expected = #"""
            {"input":{"path":"media/a.mov","deinterlace":"auto"},"outputs":[{"kind":"file","name":"a.mp4",
            "video":{"codec":"auto","scaling":"fit"},"audio":{"codec":"auto"},"fragmented":false,"preview":false,
            "ladder":[],"segmentFormat":"fmp4","dash":false}],"queue":"default","priority":50,"share":"","labels":{},
            "device":"auto","requireHardware":false,"afterLoss":"nextDevice","retention":2592000,
            "attempts":3,"damagedInput":"fail"}
            """#
        #expect(request.json.text == expected.split(separator: "\n").joined())
    }

    @Test("Equal requests have equal canonical bytes, whatever their spelling")
    func comparesRequests() throws {
        let first = try Self.request(more: #","labels":{"b":"2","a":"1"},"priority":50,"timeLimit":60"#)
        let spelled = #"""
            {"timeLimit": 6e1, "labels": {"a": "\u0031", "b": "2"}, "attempts": 3.0,
             "outputs": [{"name": "a.mp4", "video": {}, "kind": "file"}], "input": {"path": "media/a.mov"}}
            """#
        let second = try JobRequest.decode(json: Array(spelled.utf8))
        #expect(first.canonicalBytes == second.canonicalBytes)
        #expect(first == second)
        let other = try Self.request(more: #","labels":{"b":"2","a":"1"},"timeLimit":60.5"#)
        #expect(first.canonicalBytes != other.canonicalBytes)
    }

    @Test("A wrong value: what was given, where, what is allowed")
    func explainsErrors() throws {
        let output = #""kind":"file","name":"a.mp4","video":{"bitRate":5}"#
        let error = try #require(throws: APIError.self) { try Self.request(output: output) }
        #expect(error.code == .invalidRequest)
        #expect(error.field == "/outputs/0/video/bitRate")
        #expect(error.value == 5)
        #expect(error.allowed == "8000...800000000")
        #expect(
            error.description
                == "/outputs/0/video/bitRate: The number is out of range. Given 5, allowed 8000...800000000."
        )
        let problem = Problem(error, requestID: "r1")
        #expect(
            problem.json.text
                == #"""
                {"type":"/v1/errors/invalid-request","title":"A value is not allowed","status":400,
                "detail":"The number is out of range.","code":"invalid-request","field":"/outputs/0/video/bitRate",
                "value":5,"allowed":"8000...800000000","remedies":["Change the value that `field` names."],
                "requestID":"r1"}
                """#.split(separator: "\n").joined()
        )
    }

    @Test("An unknown key: which ones there are, and which was probably meant")
    func namesKnownKeys() throws {
        let error = try #require(throws: APIError.self) {
            try Self.request(output: #""kind":"file","name":"a.mp4","audio":{"bitrate":128000}"#)
        }
        #expect(error.code == .unknownField)
        #expect(error.field == "/outputs/0/audio/bitrate")
        #expect(error.allowed == "codec, bitRate, channels, sampleRate, loudness")
        #expect(error.remedies == ["Did you mean `bitRate`?"])
        let pointer = try #require(throws: APIError.self) { try Self.request(more: #","a/b~c":1"#) }
        #expect(pointer.field == "/a~1b~0c")
        #expect(pointer.remedies == ErrorCode.unknownField.remedies)
    }

    @Test("A missing key")
    func namesMissingKeys() throws {
        let error = try #require(throws: APIError.self) { try Self.request(output: #""kind":"file""#) }
        #expect(error.code == .missingField)
        #expect(error.field == "/outputs/0/name")
    }

    @Test("Long values are shortened")
    func shortensValues() throws {
        let long = String(repeating: "é", count: 100_000)
        let error = try #require(throws: APIError.self) {
            try Self.request(output: #""kind":"file","name":"\#(long)""#)
        }
        guard case .string(let value) = error.value else {
            Issue.record("no text")
            return
        }
        #expect(value.utf8.count <= 203 && value.hasPrefix("éééé") && value.hasSuffix("é…"))
        let object = try #require(throws: APIError.self) { try Self.request(more: #","device":{"a":"\#(long)"}"#) }
        #expect(object.value?.text.utf8.count ?? 1000 < 300)
    }

    @Test(
        "Values that are refused",
        arguments: [
            (#""priority":101"#, "/priority"), (#""priority":-1"#, "/priority"), (#""priority":1.5"#, "/priority"),
            (#""priority":"50""#, "/priority"), (#""priority":null"#, "/priority"), (#""priority":true"#, "/priority"),
            (#""priority":1e300"#, "/priority"), (#""attempts":0"#, "/attempts"), (#""attempts":11"#, "/attempts"),
            (#""timeLimit":0.5"#, "/timeLimit"), (#""timeLimit":2592001"#, "/timeLimit"),
            (#""retention":59"#, "/retention"),
            (#""queue":"Default""#, "/queue"), (#""queue":"""#, "/queue"), (#""share":"a\nb""#, "/share"),
            (#""labels":{"a b":"1"}"#, "/labels/a b"), (#""labels":{"":"1"}"#, "/labels/"),
            (#""labels":{"a":1}"#, "/labels/a"), (#""labels":{"a":"\u001b[31m"}"#, "/labels/a"),
            (#""labels":[]"#, "/labels"),
            (#""device":"/etc/passwd""#, "/device"), (#""device":"gpu0""#, "/device"),
            (#""device":"0000:03:00.8""#, "/device"),
            (#""requireHardware":1"#, "/requireHardware"), (#""damagedInput":"ignore""#, "/damagedInput"),
            (#""preset":"web@0""#, "/preset"), (#""preset":"web@1@2""#, "/preset"), (#""preset":"@1""#, "/preset"),
            (#""webhook":{"url":"ftp://a"}"#, "/webhook/url"), (#""webhook":{"url":"http://"}"#, "/webhook/url"),
            (#""webhook":{"url":"http://a","events":["started","begun"]}"#, "/webhook/events/1"),
            (#""device":"software","requireHardware":true"#, "/requireHardware"),
        ]
    )
    func refusesValues(more: String, field: String) throws {
        let error = try #require(throws: APIError.self) { try Self.request(more: "," + more) }
        #expect(error.code == .invalidRequest)
        #expect(error.field == field)
        #expect(error.allowed != nil && error.value != nil)
    }

    @Test("Too many labels and outputs")
    func limitsNumbers() throws {
        let labels = (0...32).map { #""k\#($0)":"""# }.joined(separator: ",")
        let error = try #require(throws: APIError.self) { try Self.request(more: #","labels":{\#(labels)}"#) }
        #expect(error.value == "33 keys" && error.allowed == "0...32 keys" && error.field == "/labels")
        let output = (0...32).map { #"{"kind":"file","name":"\#($0).mp4"}"# }.joined(separator: ",")
        let body = #"{"input":{"path":"m/a"},"outputs":[\#(output)]}"#
        let outputs = try #require(throws: APIError.self) { try JobRequest.decode(json: Array(body.utf8)) }
        #expect(outputs.value == "33 elements" && outputs.allowed == "0...32 elements" && outputs.field == "/outputs")
    }

    @Test(
        "Inputs that are refused",
        arguments: [
            ("{}", ErrorCode.missingField, "/input"),
            (#"{"path":"m/a","url":"http://a"}"#, .invalidRequest, "/input/url"),
            (#"{"path":"/m/a"}"#, .invalidRequest, "/input/path"),
            (#"{"path":"m/../a"}"#, .invalidRequest, "/input/path"),
            (#"{"path":"m/./a"}"#, .invalidRequest, "/input/path"),
            (#"{"path":"m/a/.."}"#, .invalidRequest, "/input/path"),
            (#"{"path":"m//a"}"#, .invalidRequest, "/input/path"),
            (#"{"path":"m/\u0301/../a"}"#, .invalidRequest, "/input/path"),
            (#"{"path":"mmm"}"#, .invalidRequest, "/input/path"),
            (#"{"path":"m/a\u0001"}"#, .invalidRequest, "/input/path"),
            (#"{"upload":"../a"}"#, .invalidRequest, "/input/upload"),
            (#"{"path":"m/a","s3":{"bucket":"abc","key":"k"}}"#, .invalidRequest, "/input/s3"),
            (#"{"s3":{"bucket":"abc"}}"#, .missingField, "/input/s3/key"),
            (#"{"s3":{"bucket":"a_c","key":"k"}}"#, .invalidRequest, "/input/s3/bucket"),
            (#"{"s3":{"bucket":"-bc","key":"k"}}"#, .invalidRequest, "/input/s3/bucket"),
            (#"{"s3":{"bucket":"abc","key":"a/../k"}}"#, .invalidRequest, "/input/s3/key"),
            (#"{"s3":{"bucket":"abc","key":"/k"}}"#, .invalidRequest, "/input/s3/key"),
            (#"{"upload":".a"}"#, .invalidRequest, "/input/upload"),
            (#"{"url":"file:///a"}"#, .invalidRequest, "/input/url"),
            (#"{"url":"http://a b"}"#, .invalidRequest, "/input/url"),
            (#"{"url":"http://a\\@b/"}"#, .invalidRequest, "/input/url"),
            (#"{"url":"http://é/"}"#, .invalidRequest, "/input/url"),
            (#"{"url":"http:///a"}"#, .invalidRequest, "/input/url"),
            (#"{"path":"m/a","duration":0}"#, .invalidRequest, "/input/duration"),
            (#"{"path":"m/a","start":-1}"#, .invalidRequest, "/input/start"),
            (#"{"path":"m/a","frameRate":"25/0"}"#, .invalidRequest, "/input/frameRate"),
            (#"{"path":"m/a","frameRate":"1001"}"#, .invalidRequest, "/input/frameRate"),
            (#"{"path":"m/a","frameRate":25}"#, .invalidRequest, "/input/frameRate"),
            (#"{"path":"m/a","format":"a b"}"#, .invalidRequest, "/input/format"),
            (#"{"path":"m/a","deinterlace":"yes"}"#, .invalidRequest, "/input/deinterlace"),
        ]
    )
    func refusesInputs(input: String, code: ErrorCode, field: String) throws {
        let error = try #require(throws: APIError.self) { try Self.request(input: input) }
        #expect(error.code == code)
        #expect(error.field == field)
    }

    @Test(
        "Outputs that are refused",
        arguments: [
            (#""kind":"film","name":"a.mp4""#, "kind"), (#""kind":"file","name":"a.avi""#, "name"),
            (#""kind":"file","name":"a""#, "name"), (#""kind":"file","name":".mp4""#, "name"),
            (#""kind":"file","name":"a/b.mp4""#, "name"), (#""kind":"file","name":"a\\b.mp4""#, "name"),
            (#""kind":"file","name":"a\u007f.mp4""#, "name"),
            (#""kind":"hls","name":"a.mp4","ladder":[{"height":720}]"#, "name"),
            (#""kind":"thumbnails","name":"a.png""#, "name"), (#""kind":"thumbnails","name":"a%d-%d.png""#, "name"),
            (#""kind":"thumbnails","name":"a%s.png""#, "name"), (#""kind":"thumbnails","name":"a%0d.png""#, "name"),
            (#""kind":"thumbnails","name":"a%%d.png""#, "name"), (#""kind":"sprite","name":"a.png""#, "name"),
            (#""kind":"file","name":"\#(String(repeating: "é", count: 120)).mp4""#, "name"),
            (#""kind":"file","name":"a.mp4","ladder":[{"height":720}]"#, "ladder"),
            (#""kind":"file","name":"a.mp4","segmentDuration":6"#, "segmentDuration"),
            (#""kind":"file","name":"a.mp4","dash":true"#, "dash"),
            (#""kind":"file","name":"a.mp4","width":320"#, "width"),
            (#""kind":"file","name":"a.mkv","fragmented":true"#, "fragmented"),
            (#""kind":"file","name":"a.mkv","preview":true"#, "preview"),
            (#""kind":"file","name":"a.mp4","fragmented":true,"preview":true"#, "preview"),
            (#""kind":"hls","name":"a.m3u8","preview":true"#, "preview"),
            (#""kind":"hls","name":"a.m3u8""#, "ladder"),
            (#""kind":"hls","name":"a.m3u8","ladder":[{"height":720},{"height":720}]"#, "ladder/1/height"),
            (#""kind":"hls","name":"a.m3u8","ladder":[{"height":721}]"#, "ladder/0/height"),
            (#""kind":"hls","name":"a.m3u8","ladder":[{"height":720}],"video":{"height":720}"#, "video/height"),
            (#""kind":"hls","name":"a.m3u8","ladder":[{"height":720}],"dash":true,"segmentFormat":"ts""#, "dash"),
            (
                #""kind":"hls","name":"a.m3u8","segmentFormat":"ts","ladder":[{"height":72}],"video":{"codec":"hevc"}"#,
                "video/codec"
            ),
            (#""kind":"thumbnails","name":"a%d.png","audio":{"codec":"aac"}"#, "audio"),
            (#""kind":"sprite","name":"a.vtt","verifyPSNR":30"#, "verifyPSNR"),
            (#""kind":"file","name":"a.h264","video":{"codec":"hevc"}"#, "video/codec"),
            (#""kind":"file","name":"a.h265","video":{"profile":"high"}"#, "video/profile"),
            (#""kind":"file","name":"a.mp4","video":{"quality":23,"bitRate":1000000}"#, "video/quality"),
            (#""kind":"file","name":"a.mp4","video":{"peakBitRate":8000,"bitRate":1000000}"#, "video/peakBitRate"),
            (
                #""kind":"file","name":"a.mp4","video":{"quality":23,"target":{"metric":"ssim","score":0.9}}"#,
                "video/target"
            ),
            (
                #""kind":"file","name":"a.mp4","video":{"bitRate":9000,"target":{"metric":"psnr","score":40}}"#,
                "video/target"
            ),
            (#""kind":"file","name":"a.mp4","video":{"target":{"metric":"ssim","score":1}}"#, "video/target/score"),
            (#""kind":"file","name":"a.mp4","video":{"target":{"metric":"psnr","score":9}}"#, "video/target/score"),
            (#""kind":"file","name":"a.mp4","video":{"target":{"metric":"vmaf","score":101}}"#, "video/target/score"),
            (#""kind":"file","name":"a.mp4","video":{"target":{"metric":"mse","score":1}}"#, "video/target/metric"),
            (
                #""kind":"hls","name":"a.m3u8","ladder":[{"height":72}],"video":{"target":{"metric":"psnr","score":40}}"#,
                "video/target"
            ),
            (#""kind":"file","name":"a.mp4","video":{"width":641}"#, "video/width"),
            (#""kind":"file","name":"a.mp4","video":{"frameRate":"0.001"}"#, "video/frameRate"),
            (#""kind":"file","name":"a.mp4","video":{"codec":"h264","profile":"main10"}"#, "video/profile"),
            (#""kind":"file","name":"a.mp4","video":{"codec":"h264","bitDepth":12}"#, "video/bitDepth"),
            (#""kind":"file","name":"a.mp4","video":{"bitDepth":9}"#, "video/bitDepth"),
            (#""kind":"file","name":"a.mp4","video":{"codec":"h264","chroma":"4:4:4"}"#, "video/chroma"),
            (#""kind":"file","name":"a.mp4","video":{"preset":"slowest"}"#, "video/preset"),
            (#""kind":"file","name":"a.mp4","audio":{"bitRate":128000}"#, "audio/bitRate"),
            (#""kind":"file","name":"a.mp4","audio":{"codec":"flac","bitRate":128000}"#, "audio/bitRate"),
            (#""kind":"file","name":"a.mp4","audio":{"codec":"aac","loudness":1}"#, "audio/loudness"),
        ]
    )
    func refusesOutputs(output: String, field: String) throws {
        let error = try #require(throws: APIError.self) { try Self.request(output: output) }
        #expect(error.code == .invalidRequest)
        #expect(error.field == "/outputs/0/\(field)")
    }

    @Test("Outputs that would take each other's places")
    func refusesEqualNames() throws {
        for names in [
            (#"{"kind":"file","name":"a.mp4"}"#, #"{"kind":"file","name":"A.MP4"}"#),
            (#"{"kind":"file","name":"a.mp4"}"#, #"{"kind":"hls","name":"a.mp4.m3u8","ladder":[{"height":720}]}"#),
        ] {
            let body = #"{"input":{"path":"m/a"},"outputs":[\#(names.0),\#(names.1)]}"#
            let error = try #require(throws: APIError.self) { try JobRequest.decode(json: Array(body.utf8)) }
            #expect(error.code == .invalidRequest && error.field == "/outputs/1/name")
        }
    }

    @Test(
        "Outputs that are accepted",
        arguments: [
            #""kind":"file","name":"Ein Film – größer.MKV","video":{"bitDepth":"source","chroma":"source"}"#,
            #""kind":"file","name":"a.mp4","fragmented":true,"video":{"quality":23.5,"peakBitRate":8000000}"#,
            #""kind":"file","name":"a.mp4","video":{"bitDepth":1e1,"frameRate":"30000/1001","profile":"main"}"#,
            #""kind":"file","name":"a.mp4","video":{"target":{"metric":"ssim","score":0.98},"peakBitRate":8000000}"#,
            #""kind":"file","name":"a.mp4","video":{"target":{"metric":"vmaf","score":95,"shortfall":"best"}}"#,
            #""kind":"hls","name":"a.m3u8","ladder":[{"height":720}],"dash":true,"segmentDuration":4"#,
            #""kind":"hls","name":"a.m3u8","ladder":[{"height":720}],"video":{"quality":23},"audio":{"codec":"aac"}"#,
            #""kind":"thumbnails","name":"a%%-%04d.png","interval":10,"width":320"#, #""kind":"sprite","name":"a.vtt""#,
        ]
    )
    func acceptsOutputs(output: String) throws {
        let request = try Self.request(output: output)
        #expect(try JobRequest.decode(json: request.jsonBytes) == request)
    }

    @Test("Changed requests are refused with a clear error, or are equal after writing and reading")
    func survivesChanges() throws {
        let output = #"{"kind":"hls","name":"b.m3u8","ladder":[{"height":720,"bitRate":8000}],"dash":true}"#
        let text = #"""
            {"input":{"path":"m/a.mov","start":1.5},"outputs":[\#(output),{"kind":"thumbnails","name":"a%04d.png"}],
            "labels":{"a":"b"},"preset":"web@3","device":"0000:03:00.0","webhook":{"url":"http://a/b"},"priority":7}
            """#
        let letters = Array(#"{}[]",:\0e.-/%@"#.utf8)
        var random = Generator(seed: 1127)
        var codes: [ErrorCode: Int] = [:]
        var accepted = 0
        for _ in 0..<10_000 {
            var bytes = Array(text.utf8)
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: bytes.remove(at: place)
            case 1: bytes.insert(letters.randomElement(using: &random) ?? 0, at: place)
            default: bytes[place] = UInt8.random(in: 0x20...0x7E, using: &random)
            }
            do {
                let request = try JobRequest.decode(json: bytes)
                #expect(try JobRequest.decode(json: request.jsonBytes) == request)
                #expect(try JobRequest.decode(json: request.canonicalBytes) == request)
                accepted += 1
            } catch {
                codes[error.code, default: 0] += 1
                #expect(error.code == .invalidJSON || error.field?.hasPrefix("/") == true)
                #expect(!error.remedies.isEmpty)
            }
        }
        #expect(accepted > 500)
        for code in [ErrorCode.invalidJSON, .invalidRequest, .unknownField] { #expect(codes[code, default: 0] > 100) }
    }

    @Test("A preset can replace outputs")
    func acceptsPresets() throws {
        let request = try JobRequest.decode(json: Array(#"{"input":{"upload":"a"},"preset":"web@3"}"#.utf8))
        #expect(request.preset == "web@3" && request.outputs.isEmpty)
        let error = try #require(throws: APIError.self) {
            try JobRequest.decode(json: Array(#"{"input":{"upload":"a"}}"#.utf8))
        }
        #expect(error.code == .missingField && error.field == "/outputs")
    }

    @Test(
        "Lists show URLs without secrets",
        arguments: [
            ("https://user:pass@host:8443/a/b.mov?X-Amz-Signature=secret#x", "https://host:8443/a/b.mov"),
            ("http://u@v@host", "http://host"), ("https://host/a@b", "https://host/a@b"),
            ("http://host?secret", "http://host"),
        ]
    )
    func hidesSecrets(url: String, expected: String) {
        let job = Job { $0.request.input = Input(.url(url)) }
        #expect(JobSummary(job).input == expected)
    }

    @Test("Answers of newer services are read: unknown keys and null are ignored, and so are rules")
    func readsNewerAnswers() throws {
        let body = #"{"jobs":[],"total":5,"nextCursor":null}"#
        #expect(try JobList.decode(json: Array(body.utf8), mode: .response) == JobList())
        #expect(throws: APIError.self) { try JobList.decode(json: Array(body.utf8)) }
        let upload = #"""
            {"id":"short","name":"a\nb","received":-1,"complete":false,"createdAt":"2026-11-27T09:15:15Z",
             "expiresAt":"2026-11-27T09:15:15Z"}
            """#
        #expect(try Upload.decode(json: Array(upload.utf8), mode: .response).name == "a\nb")
        let missing = try #require(throws: APIError.self) { try Upload.decode(json: [:], mode: .response) }
        #expect(missing.code == .missingField && missing.field == "/id")
    }
}
