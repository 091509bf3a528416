// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import TestSupport
import Testing

@testable import Streaming

@Suite(.blocks) struct RTMPAuthenticationTests {
    private let need = "[ AccessManager.Reject ] : [ code=403 need auth; authmod=adobe ] : "
    private let challenge =
        "[ AccessManager.Reject ] : [ authmod=adobe ] : ?reason=needauth&user=me&salt=abc&challenge=xyz&opaque=op=="

    private func query(
        _ refusal: String,
        of query: String,
        address: String = "rtmp://me:p%3Aw@host/app/key"
    ) throws(MediaError) -> String? {
        try RTMPAuthentication.query(after: refusal, of: query, for: RTMPAddress(address), challenge: 0xFF)
    }

    @Test func theStepsOfAnAuthentication() throws {
        let start = "?authmod=adobe&user=me"
        #expect(try query(need, of: "") == start)
        // python3: b = lambda t: base64.b64encode(hashlib.md5(t.encode()).digest()).decode()
        // b(b("me" + "abc" + "p:w") + "op==" + "ff"), and with "xyz" in place of "op=="
        let opaque = "\(start)&challenge=ff&response=TZdJjpy2VqdnOvLLLNwKWA==&opaque=op=="
        #expect(try query(challenge, of: start) == opaque)
        let plain = challenge.replacing("&opaque=op==", with: "")
        #expect(try query(plain, of: start) == "\(start)&challenge=ff&response=738FwPg0zMYhJ3T+1VPgpA==")
    }

    @Test func refusalsThatAskForNothing() throws {
        #expect(try query("no such application", of: "") == nil)
        #expect(try query("", of: "") == nil)
    }

    @Test(arguments: [
        ("rtmp://host/app/key", "", "[ code=403 need auth; authmod=adobe ]", "which the address lacks"),
        ("rtmp://me@host/app/key", "", "[ code=403 need auth; authmod=adobe ]", "which the address lacks"),
        ("rtmp://me:pw@host/app/key", "", "[ code=403 need auth; authmod=llnw ]", "not supported"),
        ("rtmp://m%26e:pw@host/app/key", "", "[ code=403 need auth; authmod=adobe ]", "cannot carry"),
        (
            "rtmp://me:pw@host/app/key", "?authmod=adobe&user=me", "authmod=adobe : ?reason=nosuchuser",
            "does not accept"
        ),
        ("rtmp://me:pw@host/app/key", "?authmod=adobe&user=me", "authmod=adobe", "does not accept"),
        ("rtmp://me:pw@host/app/key", "?x", "authmod=adobe : ?reason=needauth&salt=a", "does not accept"),
        ("rtmp://me:pw@host/app/key", "?x", "authmod=adobe : ?reason=authfailed", "does not accept"),
    ])
    func failures(address: String, sent: String, refusal: String, text: String) {
        let error = #expect(throws: MediaError.self) { try query(refusal, of: sent, address: address) }
        #expect(error?.code == .unavailable && error?.isPermanent == true)
        #expect(error?.message.contains(text) == true)
    }

    @Test(arguments: ["pw", "wrong"])
    func aServerThatAsksForAuthentication(password: String) async throws {
        let clip = try RTMPClip.shared.get()
        let server = try RTMPScriptedServer(.asksForPassword)
        let address = try RTMPAddress("rtmp://me:\(password)@127.0.0.1:\(server.port)/app/hidden")
        let units = clip.units
        let attempt = try await RTMPAttempt.run(address, tracks: clip.tracks) { index in
            index < units.count ? units[index] : nil
        }
        #expect(
            attempt.error?.message
                == (password == "pw" ? nil : "the RTMP server does not accept the user or the password")
        )
        let isOver = await Patience.wait { server.record.isOver }
        #expect(isOver)
        #expect(server.record.payloads(.video).count == (password == "pw" ? clip.video.count + 2 : 0))
    }
}
