// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import LiveSessions

@Suite("The wish for DMA-BUFs")
struct DMABufTrialTests {
    /// Returns whether DMA-BUFs are wanted after the last of some pictures, of each of which the CPU has read so many.
    private func goesOn(_ reads: [Int], isDMABuf: Bool = true, isOnGPU: Bool = true) -> Bool {
        var trial = DMABufTrial()
        var (total, goesOn) = (0, true)
        for read in reads {
            total += read
            goesOn = trial.goesOn(isDMABuf: isDMABuf, isOnGPU: isOnGPU, readByCPU: total)
        }
        return goesOn
    }

    @Test("lasts while a GPU reads the pictures")
    func lasts() { #expect(goesOn(Array(repeating: 0, count: 1000))) }

    @Test("outlasts single pictures that a GPU does not accept")
    func single() { #expect(goesOn([0, 1, 0, 0, 2, 0, 1, 1, 1, 1])) }

    @Test("ends when the CPU reads too many")
    func many() {
        #expect(!goesOn(Array(repeating: 1, count: DMABufTrial.tolerance)))
        // An intermediate image makes two copies of each.
        #expect(!goesOn(Array(repeating: 2, count: DMABufTrial.tolerance / 2)))
    }

    @Test("ends when the encoder is on the CPU, whether it copies or not")
    func software() { #expect(!goesOn([0], isOnGPU: false)) }

    @Test("says nothing of pictures in other memory")
    func others() {
        #expect(goesOn(Array(repeating: 1, count: 100), isDMABuf: false, isOnGPU: false))
        var trial = DMABufTrial()
        for read in 1...100 { _ = trial.goesOn(isDMABuf: false, isOnGPU: true, readByCPU: read) }
        let isWanted = trial.goesOn(isDMABuf: true, isOnGPU: true, readByCPU: 101)
        #expect(isWanted)
    }
}
