// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import ServiceAPI
import ServiceClient

/// Has an encoding service encode a file: `EncodeRemotely URL INPUT OUTPUT`, with its key in `VATOOLBOX_KEY`.
@main struct EncodeRemotely {
    static func main() async throws {
        guard CommandLine.arguments.count == 4 else {
            print("usage: EncodeRemotely URL INPUT OUTPUT")
            return
        }
        let (url, input, output) = (CommandLine.arguments[1], CommandLine.arguments[2], CommandLine.arguments[3])
        let key = ProcessInfo.processInfo.environment["VATOOLBOX_KEY"]
        do {
            try await encode(input, to: output, with: try ServiceClient(url: url, key: key))
        } catch let error as ClientError {
            print(error.message)
            for remedy in error.remedies { print("try: \(remedy)") }
            exit(1)
        }
    }

    static func encode(_ input: String, to path: String, with client: ServiceClient) async throws {
        let upload = try await client.upload(file: input) { progress in
            print("\(progress.bytes) of \(progress.size) bytes sent")
        }

        var output = Output()
        output.name = "film.mp4"
        (output.video.width, output.video.height) = (320, 180)
        output.video.quality = 26
        output.audio.codec = .aac
        var request = JobRequest()
        request.input = Input(.upload(upload.id))
        request.outputs = [output]
        request.labels = ["project": "trailer"]
        let submitted = try await client.submit(request)

        let job = try await client.wait(for: submitted.id) { event in
            guard case .progress(_, let progress) = event else { return }
            print("\(progress.phase): \(Int((progress.fraction ?? 0) * 100)) %")
        }
        guard job.state == .succeeded else {
            print("the job is \(job.state): \(job.failure?.message ?? "cancelled")")
            exit(1)
        }

        try await client.download(job: job.id, path: "film.mp4", to: path, overwrites: true)
        print("\(job.outputs[0].encoder?.name ?? "an encoder") has made \(path)")

        for try await summary in client.jobs() where summary.labels["project"] == "trailer" {
            print("\(summary.id) \(summary.state)")
        }
    }
}
