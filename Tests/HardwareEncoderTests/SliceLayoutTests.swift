// SPDX-License-Identifier: GPL-2.0-or-later

import Testing
import VAAPI

@testable import HardwareEncoder

@Suite struct SliceLayoutTests {
    private static let structures: [SliceStructures?] = [
        nil, [], .arbitraryMacroblocks, .arbitraryRows, .equalRows, .oneRow, .powerOfTwoRows, [.oneRow, .equalRows],
        [.powerOfTwoRows, .oneRow, .equalRows], [.arbitraryMacroblocks, .arbitraryRows],
    ]

    private func isAllowed(_ slices: [Range<Int>], _ columns: Int, _ structures: SliceStructures?) -> Bool {
        guard slices.count > 1 else { return true }
        guard let structures else { return false }
        if structures.contains(.arbitraryMacroblocks) { return true }
        guard slices.allSatisfy({ $0.count % columns == 0 }) else { return false }
        if structures.contains(.arbitraryRows) { return true }
        let height = slices[0].count / columns
        let last = slices[slices.count - 1]
        guard slices.dropLast().allSatisfy({ $0.count == slices[0].count }), last.count <= slices[0].count
        else { return false }
        return structures.contains(.equalRows) || structures.contains(.oneRow) && height == 1
            || structures.contains(.powerOfTwoRows) && [1, 2, 4, 8, 16, 32, 64, 128].contains(height)
    }

    @Test(arguments: structures)
    func slicesCoverThePictureInAWayThatIsAllowed(structures: SliceStructures?) {
        for (columns, rows) in [(1, 1), (4, 4), (11, 9), (80, 45), (120, 68)] {
            for maximum in [1, 4, 32, 256] {
                for count in [1, 2, 3, 4, 5, 8, 9, 16, 45, 100, 256] {
                    let slices = SliceLayout(
                        count: count,
                        columns: columns,
                        rows: rows,
                        maximum: maximum,
                        structures: structures
                    ).slices
                    #expect(slices.allSatisfy { !$0.isEmpty } && slices.count <= maximum)
                    #expect(slices.first?.lowerBound == 0 && slices.last?.upperBound == columns * rows)
                    #expect(zip(slices, slices.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
                    #expect(isAllowed(slices, columns, structures), "\(slices) of \(columns)x\(rows)")
                }
            }
        }
    }

    private func count(_ wanted: Int, rows: Int, _ structures: SliceStructures?, maximum: Int = 256) -> Int {
        SliceLayout(count: wanted, columns: 10, rows: rows, maximum: maximum, structures: structures).slices.count
    }

    @Test func theNearestNumberIsTaken() {
        #expect(count(4, rows: 68, .arbitraryRows) == 4)
        #expect(count(100, rows: 68, .arbitraryRows) == 68)
        #expect(count(100, rows: 68, .arbitraryMacroblocks) == 100)
        // 45 rows in slices of 4 are 12, of 5 are 9.
        #expect(count(10, rows: 45, .equalRows) == 9)
        #expect(count(11, rows: 45, .equalRows) == 12)
        // 68 rows in slices of 16 are 5, of 32 are 3: the lower of both is taken.
        #expect(count(4, rows: 68, .powerOfTwoRows) == 3)
        #expect(count(2, rows: 68, .oneRow) == 1)
        #expect(count(60, rows: 68, .oneRow) == 68)
        #expect(count(60, rows: 68, .oneRow, maximum: 64) == 1)
        #expect(count(8, rows: 68, nil) == 1)
    }
}
