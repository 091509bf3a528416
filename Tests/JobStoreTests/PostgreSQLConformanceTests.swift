// SPDX-License-Identifier: GPL-2.0-or-later

import JobStoreConformance
import Synchronization
import Testing

@testable import JobStore

/// A store in a database of its own, whose clock and that of the server a test sets.
final class PostgreSQLRig: StoreRig {
    let location: String
    let clock = TestClock()
    private let open: Mutex<PostgreSQLJobStore?>

    init(_ server: PostgreSQLServer) async throws {
        location = try await server.makeDatabase()
        open = Mutex(nil)
        let connection = try PostgreSQLConnection(location)
        _ = try connection.executeAll(
            """
            CREATE TABLE vatoolbox.test_time (now BIGINT);
            INSERT INTO vatoolbox.test_time VALUES (1800000000000);
            CREATE OR REPLACE FUNCTION vatoolbox.system_time() RETURNS BIGINT LANGUAGE sql VOLATILE
                AS 'SELECT now FROM vatoolbox.test_time';
            """
        )
        try await reopen()
    }

    var store: any JobStore {
        get throws { try #require(open.withLock { $0 }) }
    }

    func advance(by duration: Duration) throws {
        clock.advance(by: duration.wholeMilliseconds)
        try moveServer(by: duration)
    }

    func jump(by duration: Duration) throws { try moveServer(by: duration) }

    private func moveServer(by duration: Duration) throws {
        let connection = try PostgreSQLConnection(location)
        _ = try connection.execute(
            "UPDATE vatoolbox.test_time SET now = now + $1",
            [.integer(duration.wholeMilliseconds)]
        )
    }

    func reopen() async throws {
        open.withLock { $0 = nil }
        let store = try await PostgreSQLJobStore(location: location, mostConnections: 4, clock: clock.source)
        open.withLock { $0 = store }
    }
}

/// The store in PostgreSQL does what every store must do.
@Suite(.timeLimit(.minutes(60))) struct PostgreSQLConformanceTests {
    @Test(arguments: ConformanceCase.all) func conforms(demand: ConformanceCase) async throws {
        try await demand.run(try await PostgreSQLRig(try PostgreSQLServer.shared()))
    }
}
