// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import StreamingPlaylists
import Testing

@Suite struct BlockingRequestTests {
    private static let half = MediaTime(value: 1, timescale: 2)

    /// Segment 9 with 4 parts is complete, and segment 10 has 2 parts.
    private func edge(
        partTarget: MediaTime? = half,
        isEnded: Bool = false,
        change: (inout LiveMediaPlaylist.Options) -> Void = { _ in }
    ) -> LiveMediaPlaylist.Edge {
        var options = LiveMediaPlaylist.Options(targetDuration: 2, partTarget: partTarget, window: .segments(6))
        change(&options)
        return .init(lastNumber: 9, lastPartCount: 4, openPartCount: 2, isEnded: isEnded, options: options)
    }

    private func answer(_ query: String, _ waited: MediaTime = .zero) -> BlockingRequest.Answer {
        BlockingRequest(query: query).answer(at: edge(), waited: waited)
    }

    @Test(arguments: [
        "", "token=x&a", "_HLS_msn=9", "_HLS_msn=0", "_HLS_msn=9&_HLS_part=3", "_HLS_msn=10&_HLS_part=1",
        "_HLS_msn=9&_HLS_part=4", "_HLS_msn=9&_HLS_part=999", "_HLS_msn=3&_HLS_part=99", "_HLS_part=0&x&_HLS_msn=10",
        "_HLS_other=1", "_hls_msn=99", "&&", "_HLS_msn=0009",
    ])
    func sendsWhatIsThere(query: String) { #expect(answer(query) == .send(nil)) }

    @Test(
        arguments: [
            ("_HLS_msn=10", 10, nil), ("_HLS_msn=11", 11, nil), ("_HLS_msn=10&_HLS_part=2", 10, 2),
            ("_HLS_msn=10&_HLS_part=7", 10, 7), ("_HLS_msn=11&_HLS_part=0", 11, 0), ("_HLS_msn=11&_HLS_part=5", 11, 5),
        ] as [(String, Int, Int?)]
    )
    func waitsForWhatComes(query: String, number: Int, part: Int?) {
        let limit = MediaTime(value: 6, timescale: 1)
        #expect(answer(query) == .wait(number: number, part: part, atMost: limit))
        #expect(answer(query, Self.half) == .wait(number: number, part: part, atMost: limit - Self.half))
        guard case .unavailable(let error) = answer(query, limit) else {
            Issue.record("no time-out")
            return
        }
        #expect(error.code == .deadlineExceeded)
    }

    @Test(arguments: [
        "_HLS_part=0", "_HLS_msn=12", "_HLS_msn=12&_HLS_part=0", "_HLS_msn=10&_HLS_part=8", "_HLS_msn=11&_HLS_part=6",
        "_HLS_msn=", "_HLS_msn", "_HLS_msn=-1", "_HLS_msn=1.0", "_HLS_msn=+1", "_HLS_msn=１", "_HLS_msn=10&_HLS_msn=10",
        "_HLS_msn=99999999999999999999", "_HLS_msn=9&_HLS_part=x", "_HLS_skip=NO", "_HLS_skip", "_HLS_msn=1&_HLS_part=",
        "_HLS_msn=10&_HLS_part=999999999999999999", "_HLS_msn=999999999999999999&_HLS_part=999999999999999999",
    ])
    func refusesTheRest(query: String) {
        guard case .badRequest(let error) = answer(query) else {
            Issue.record("\(query): \(answer(query))")
            return
        }
        #expect(error.code == .invalidArgument)
        // A complete playlist ignores directives.
        #expect(BlockingRequest(query: query).answer(at: edge(isEnded: true)) == .send(nil))
    }

    @Test func skipsIfThatIsOffered() {
        #expect(answer("_HLS_skip=YES") == .send(.segments))
        #expect(answer("_HLS_msn=10&_HLS_part=0&_HLS_skip=v2") == .send(.segmentsAndDateRanges))
        let request = BlockingRequest(query: "_HLS_msn=11&_HLS_skip=YES")
        #expect(request.answer(at: edge { $0.offersDeltaUpdates = false }) != .send(.segments))
        #expect(request.answer(at: edge(isEnded: true)) == .send(nil))
        let plain = edge(partTarget: nil) { ($0.offersBlockingReload, $0.offersDeltaUpdates) = (false, false) }
        #expect(request.answer(at: plain) == .send(nil))
    }

    /// Three parts of a second or more are the limit, and three seconds of shorter ones.
    @Test func advanceLimitFollowsThePartTarget() {
        let second = edge(partTarget: MediaTime(value: 3, timescale: 2))
        let third = edge(partTarget: MediaTime(value: 1, timescale: 3))
        func isRefused(_ part: Int, _ edge: LiveMediaPlaylist.Edge) -> Bool {
            guard case .badRequest = BlockingRequest(query: "_HLS_msn=10&_HLS_part=\(part)").answer(at: edge) else {
                return false
            }
            return true
        }
        #expect(!isRefused(4, second) && isRefused(5, second))
        #expect(!isRefused(10, third) && isRefused(11, third))
    }

    /// A request for a part that the segment never gets waits for the next segment.
    @Test func partsBeyondTheLastOneAreOfTheNextSegment() {
        var edge = edge()
        let request = BlockingRequest(query: "_HLS_msn=10&_HLS_part=4")
        (edge.lastNumber, edge.lastPartCount, edge.openPartCount) = (10, 4, 0)
        #expect(request.answer(at: edge) == .wait(number: 11, part: 0, atMost: MediaTime(value: 6, timescale: 1)))
        edge.openPartCount = 1
        #expect(request.answer(at: edge) == .send(nil))
    }
}
